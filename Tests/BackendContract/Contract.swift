import BLE
import BLEProfiles
import Foundation
import Logging
import Testing

/// The checks' common ground: a central for one check, and ways to the peripheral.
struct Contract {
    let peer: any ContractPeer

    /// Runs a check with a central of its own, which is shut down afterward.
    func withCentral(
        pairing: PairingBehavior = .justWorks, _ check: (Central) async throws -> Void
    ) async throws {
        var logger = Logger(label: "contract")
        if let level = ProcessInfo.processInfo.environment["BLE_LOG"] {
            logger.logLevel = .init(rawValue: level) ?? .info
        }
        let central = try await peer.makeCentral(
            Central.Configuration(
                connectTimeout: peer.timeout, operationTimeout: peer.timeout, logger: logger, pairing: pairing))
        do {
            try await check(central)
            await central.shutDown()
        } catch {
            await central.shutDown()
            throw error
        }
    }

    /// Scans until the peripheral is heard.
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

    /// The error that `work` ends with.
    func error(
        of work: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> BLEError? {
        do {
            try await work()
            Issue.record("an error was expected", sourceLocation: sourceLocation)
        } catch let error as BLEError {
            return error
        } catch {
            Issue.record("not a BLEError: \(error)", sourceLocation: sourceLocation)
        }
        return nil
    }

    /// Starts `work` and gives its error when it ends.
    func failing(_ work: @escaping @Sendable () async throws -> Void) -> Task<BLEError?, Never> {
        Task {
            do {
                try await work()
                return nil
            } catch {
                return error as? BLEError
            }
        }
    }

    /// Returns once the peripheral's connection is in that state.
    func until(_ state: ConnectionState, _ peripheral: Peripheral) async throws {
        for try await now in await peripheral.connectionStates() where now == state { return }
    }
}
