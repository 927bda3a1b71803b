internal import BLESimulation
internal import Foundation
public import Testing

/// The faults of a simulated radio, the addresses of its peripherals and its air, as a central sees them through any
/// stack over that radio. One check per case.
///
/// The radio of the peer is on a ``ManualClock``. Each check has a radio of its own.
public enum RadioContract: String, CaseIterable, Sendable, CustomTestStringConvertible {
    // Requests
    case requestsAreDelayedByExactlyTheGivenTime
    case requestsFailWithThePeripheralsError
    case heldRequestsGoOnWhenTheyAreReleased
    case heldRequestsEndWithTheirLink
    case heldRequestsEndWithTheAdapter
    case heldRequestsEndWithTheirCaller
    case unansweredRequestsEndAtTheirDeadline
    case linksAreLostBeforeRequests
    case linksAreLostAfterRequests
    case commandsAreLost
    case signalStrengthFails
    // Occurrences
    case onlyTheNthRequestIsDisturbed
    case theSameSeedDisturbsTheSameRequests
    case requestsAreDisturbedWhileAConditionHolds
    case faultsAddUpAndAreRemoved
    case faultsOfACharacteristicLeaveTheOthers
    // Links
    case attemptsAreDelayed
    case attemptsFail
    case heldAttemptsGoOnWhenTheyAreReleased
    case heldAttemptsEndWithADisconnectAndTheAdapter
    case unansweredAttemptsEndAtTheirDeadline
    case linksAreLostBeforeAndAfterTheyAreMade
    case discoveriesFail
    case disconnectsAreHeldAndFail
    // Pairing
    case pairingsAreDelayedHeldAndFail
    case pairingsEndWithTheirLinkAndAtTheirDeadline
    // Values
    case valuesAreLostAndDoubled
    case valuesAreDelayedAndHeldInOrder
    case linksAreLostWithValues
    case confirmationsAreHeldAndFail
    // Scanning
    case scansFail
    case heldScansGoOnOrEnd
    case unansweredScansFail
    case advertisementsAreLostAndDoubled
    case advertisementsAreDelayedAndHeld
    // Addresses
    case newAddressesAreThoseOfStrangers
    case bondsOutlastAddresses
    case linksOutlastAddresses
    case keysRecognizeEachAddress
    // Air
    case strengthFollowsFromTheDistance
    case linksEndWhenEverythingIsLost
    case valuesAndRequestsWaitForConnectionEvents
    case scanResponsesAreReceived

    public var testDescription: String { rawValue }

    /// All checks, or those listed in the environment variable `BLE_RADIO_CONTRACT`, separated by commas.
    public static var selected: [RadioContract] {
        guard let names = ProcessInfo.processInfo.environment["BLE_RADIO_CONTRACT"] else { return allCases }
        return names.split(separator: ",").compactMap { RadioContract(rawValue: String($0)) }
    }

    /// Runs this check. Failed expectations are recorded as issues.
    public func check(_ peer: some SimulatedStrapPeer) async throws {
        try await peer.reset()
        let checks = try RadioChecks(peer)
        switch self {
        case .requestsAreDelayedByExactlyTheGivenTime: try await checks.delayedRequests()
        case .requestsFailWithThePeripheralsError: try await checks.failingRequests()
        case .heldRequestsGoOnWhenTheyAreReleased: try await checks.releasedRequests()
        case .heldRequestsEndWithTheirLink: try await checks.heldRequests { _ in await checks.device.dropLink() }
        case .heldRequestsEndWithTheAdapter:
            try await checks.heldRequests { central in
                for isPowered in [false, true] { try await checks.setPowered(isPowered, central) }
            }
        case .heldRequestsEndWithTheirCaller: try await checks.cancelledRequests()
        case .unansweredRequestsEndAtTheirDeadline: try await checks.unansweredRequests()
        case .linksAreLostBeforeRequests: try await checks.lostRequests()
        case .linksAreLostAfterRequests: try await checks.lostAnswers()
        case .commandsAreLost: try await checks.lostCommands()
        case .signalStrengthFails: try await checks.signalStrength()
        case .onlyTheNthRequestIsDisturbed: try await checks.nthRequest()
        case .theSameSeedDisturbsTheSameRequests: try await checks.seeds()
        case .requestsAreDisturbedWhileAConditionHolds: try await checks.condition()
        case .faultsAddUpAndAreRemoved: try await checks.severalFaults()
        case .faultsOfACharacteristicLeaveTheOthers: try await checks.otherCharacteristics()
        case .attemptsAreDelayed: try await checks.delayedAttempts()
        case .attemptsFail: try await checks.failingAttempts()
        case .heldAttemptsGoOnWhenTheyAreReleased: try await checks.releasedAttempts()
        case .heldAttemptsEndWithADisconnectAndTheAdapter: try await checks.heldAttempts()
        case .unansweredAttemptsEndAtTheirDeadline: try await checks.unansweredAttempts()
        case .linksAreLostBeforeAndAfterTheyAreMade: try await checks.lostAttempts()
        case .discoveriesFail: try await checks.failingDiscovery()
        case .disconnectsAreHeldAndFail: try await checks.disconnects()
        case .pairingsAreDelayedHeldAndFail: try await checks.pairings()
        case .pairingsEndWithTheirLinkAndAtTheirDeadline: try await checks.endedPairings()
        case .valuesAreLostAndDoubled: try await checks.lostValues()
        case .valuesAreDelayedAndHeldInOrder: try await checks.heldValues()
        case .linksAreLostWithValues: try await checks.linksLostWithValues()
        case .confirmationsAreHeldAndFail: try await checks.confirmations()
        case .scansFail: try await checks.failingScans()
        case .heldScansGoOnOrEnd: try await checks.heldScans()
        case .unansweredScansFail: try await checks.unansweredScan()
        case .advertisementsAreLostAndDoubled: try await checks.lostAdvertisements()
        case .advertisementsAreDelayedAndHeld: try await checks.heldAdvertisements()
        case .newAddressesAreThoseOfStrangers: try await checks.strangers()
        case .bondsOutlastAddresses: try await checks.bondedAddresses()
        case .linksOutlastAddresses: try await checks.addressesOfLinks()
        case .keysRecognizeEachAddress: try await checks.identities()
        case .strengthFollowsFromTheDistance: try await checks.distance()
        case .linksEndWhenEverythingIsLost: try await checks.loss()
        case .valuesAndRequestsWaitForConnectionEvents: try await checks.connectionEvents()
        case .scanResponsesAreReceived: try await checks.scanResponse()
        }
    }
}
