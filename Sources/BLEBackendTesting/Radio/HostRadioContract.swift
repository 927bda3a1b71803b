public import BLESimulation
import BLE
internal import Foundation
public import Testing

/// A host on a stack over a simulated radio, and centrals of the same radio.
public protocol SimulatedHostPeer: PeripheralContractPeer {
    /// The radio, on a ``ManualClock``.
    var radio: SimulatedRadio { get }
    /// What the stack makes of the radio's faults. By default, what the simulation's own backends do.
    var faultFacts: FaultFacts { get }
}

extension SimulatedHostPeer {
    public var faultFacts: FaultFacts { FaultFacts() }
}

/// The faults of a simulated radio, as a host sees them through any stack over that radio. One check per case.
public enum HostRadioContract: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case registrationsFail
    case registrationsAreDelayedAndHeld
    case unansweredRegistrationsFail
    case requestsAreRefused
    case requestsAreDelayedAndHeld
    case unansweredRequestsEndAtTheirDeadline
    case linksAreLostWithRequests
    case unconfirmedIndicationsFailWithTheLink

    public var testDescription: String { rawValue }

    /// All checks, or those listed in the environment variable `BLE_RADIO_CONTRACT`, separated by commas.
    public static var selected: [HostRadioContract] {
        guard let names = ProcessInfo.processInfo.environment["BLE_RADIO_CONTRACT"] else { return allCases }
        return names.split(separator: ",").compactMap { HostRadioContract(rawValue: String($0)) }
    }

    /// Runs this check. Failed expectations are recorded as issues.
    public func check(_ peer: some SimulatedHostPeer) async throws {
        try await peer.reset()
        let checks = try HostRadioChecks(peer)
        switch self {
        case .registrationsFail: try await checks.failingRegistrations()
        case .registrationsAreDelayedAndHeld: try await checks.heldRegistrations()
        case .unansweredRegistrationsFail: try await checks.unansweredRegistrations()
        case .requestsAreRefused: try await checks.refusedRequests()
        case .requestsAreDelayedAndHeld: try await checks.heldRequests()
        case .unansweredRequestsEndAtTheirDeadline: try await checks.unansweredRequests()
        case .linksAreLostWithRequests: try await checks.lostRequests()
        case .unconfirmedIndicationsFailWithTheLink: try await checks.unconfirmedIndications()
        }
    }
}
