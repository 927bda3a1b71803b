import BLE
import BLEProfiles
import Foundation
import Logging
import Testing

/// The shared parts of the checks: a central for each check, and access to the peripheral.
struct Contract: FailingWork {
    let peer: any ContractPeer

    /// Runs a check with its own central, which is shut down afterward.
    ///
    /// - Parameter sharesLinks: whether another central of the check uses the same links.
    func withCentral(
        pairing: PairingBehavior = .justWorks, sharesLinks: Bool = false, _ check: (Central) async throws -> Void
    ) async throws {
        func shutDown(_ central: Central) async {
            if sharesLinks { await central.shutDown() } else { await peer.shutDown(central) }
        }
        var logger = Logger(label: "contract")
        if let level = ProcessInfo.processInfo.environment["BLE_LOG"] {
            logger.logLevel = .init(rawValue: level) ?? .info
        }
        let central = try await peer.makeCentral(
            Central.Configuration(
                connectTimeout: peer.timeout, operationTimeout: peer.timeout, logger: logger, pairing: pairing))
        do {
            try await check(central)
            await shutDown(central)
        } catch {
            await shutDown(central)
            throw error
        }
    }

    /// Scans until the peripheral is found.
    func find(_ central: Central, matching criteria: DiscoveryCriteria = .any) async throws -> Discovery {
        for try await discovery in central.discoveries(matching: criteria) where discovery.peripheral.id == EchoStrap.id
        {
            return discovery
        }
        throw BLEError(.peripheralNotFound, "the scan ended")
    }

    /// Runs a check with the peripheral connected.
    func withStrap(_ check: (Peripheral) async throws -> Void) async throws {
        try await withCentral { central in
            let strap = try await find(central).peripheral
            try await strap.connect()
            try await check(strap)
        }
    }

    /// Waits until the connection to the peripheral has the given state.
    func until(_ state: ConnectionState, _ peripheral: Peripheral) async throws {
        for try await now in await peripheral.connectionStates() where now == state { return }
    }
}
