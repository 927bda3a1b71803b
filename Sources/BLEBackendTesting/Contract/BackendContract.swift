import Foundation
public import Testing

/// The required behavior of every backend, one check per case. A test target runs all checks with its own
/// ``ContractPeer``.
///
/// ```swift
/// @Test(arguments: BackendContract.selected) func contract(_ item: BackendContract) async throws {
///     try await item.check(peer)
/// }
/// ```
public enum BackendContract: String, CaseIterable, Sendable, CustomTestStringConvertible {
    // Discovery
    case discoveryReportsEveryAdvertisementField
    case discoveryFiltersByService
    case discoveryKeepsToItsTransport
    case discoveryStopsWithItsLastScan
    case discoveryReportsLostPeripherals
    case discoveryReportsEachChangeOfStrength
    case discoveryFindsWhatHasNoKnownStrength
    case discoveryReportsPeripheralsWithALink
    case strongestIsConnectedAutomatically
    case handlersRunOnEachLink
    case disconnectDuringAnOperationIsLocal
    // Connection
    case connectionGoesThroughItsStatesAndKnowsTheServices
    case unknownPeripheralIsNotFound
    case savedIDIsReachableWithoutAScan
    case invalidIDIsRefused
    case vanishedPeripheralRunsIntoTheDeadline
    case cancelledConnectLeavesNoLink
    case disconnectEndsAPendingConnect
    case peerDisconnectIsSeenAsStateAndAsFailedOperation
    case linkLossIsSeenAsStateAndAsFailedOperation
    case linkComesBackAfterDisconnect
    case shutDownEndsLinks
    // Attributes
    case readsGiveValues
    case missingAttributesAreNamed
    case writesArrive
    case longWritesArriveWhole
    case forbiddenOperationsAreRefused
    case descriptorsCanBeRead
    case treeShowsRepeatedTypesAndIncludedServices
    case descriptorsTellNameAndFormat
    case partsOfValuesAreReadAndWritten
    case reliableWritesArriveWhole
    case packetLengthLimitsCommands
    case signalStrengthOfALinkIsMeasuredOrRefused
    case connectedPeripheralsAreFoundByService
    case controlPointsAnswer
    case addedServicesLeaveTheOthers
    case removedServicesEndWhatUsesThem
    case movedServicesAreFoundAgain
    case servicesThatChangeBetweenLinksAreFoundOnTheNext
    case unansweredRequestsEnd
    case cancelledOperationsEndAndLeaveTheLink
    case deadlinesEndOperationsAndLeaveTheLink
    // Notifications
    case notificationsAreCompleteAndInOrder
    case profileMeasurementsArriveFromTheFirst
    case subscribersShareOneRegistration
    case notificationsResumeOnceAfterReconnect
    case readsAreNoNotifications
    case declaredValuesAreKeptUpToDate
    case readableValuesAreReadOnEachLink
    case socketsDeliverAllInOrder
    case slowReadersOfSocketsMissNothing
    case socketsTakenAwayAreReplaced
    case socketsEndWithTheLink
    case indicationsNeedNoSocket
    case writersSendAllInOrder
    case writersAreExclusive
    case writersEndWithTheLink
    case channelsCarryPacketsBothWays
    case channelsAreRefused
    case channelsEndWithEitherSideAndTheLink
    case slowReadersOfChannelsMissNothing
    case fullChannelsWait
    case channelsAreSecured
    case emptyValuesAreNotified
    // Adapters
    case adaptersAreSwitchedOffAndOn
    case adaptersAreNamed
    case unknownAdaptersAreNotFound
    case blockedAdaptersCannotBeSwitchedOn
    // Pairing
    case pairingJustWorks
    case protectedAttributesPairByThemselves
    case refusedPairingFailsTheOperation
    case unansweredPairingEndsTheOperation
    case peripheralMayRefuseToPair
    case passkeysAreEntered
    case passkeysAreShown
    case numbersAreCompared
    case weakPairingDoesNotOpenSealedAttributes
    case bondsOutlastLinksAndRestarts
    case cancelledPairingLeavesNothing
    case deadlineEndsAPairing
    case linkLossEndsAPairing
    case trustAndBlocking
    // The stack below
    case powerOffEndsScansAndLinks
    case scansTellWhyTheyWait
    case centralsStartWhileTheAdapterIsOff
    case deathOfBluetoothFailsWhatIsPending
    case bluetoothIsUsableAfterRestart
    // Recovery
    case maintainedLinkOutlastsTheLossOfTheLink
    case maintainedLinkOutlastsPowerOff
    case maintainedLinkOutlastsUnplugging
    case maintainedLinkOutlastsTheDeathOfBluetooth
    case scansOutlastPowerOffUnpluggingAndDeath
    case idleLinksEnd

    public var testDescription: String {
        // Splits camelCase into words.
        rawValue.reduce(into: "") { text, character in
            if character.isUppercase { text += " " }
            text += character.lowercased()
        }
    }

    /// All checks, or those listed in the environment variable `BLE_CONTRACT`, separated by commas; with
    /// `BLE_CONTRACT_PART=2of3`, the second of three parts of these.
    public static var selected: [BackendContract] {
        let environment = ProcessInfo.processInfo.environment
        let names = environment["BLE_CONTRACT"]?.split(separator: ",")
        let checks = names?.compactMap { BackendContract(rawValue: String($0)) } ?? allCases
        guard let name = environment["BLE_CONTRACT_PART"] else { return checks }
        // A run without a check would pass.
        guard let part = part(name, of: checks) else { fatalError("BLE_CONTRACT_PART=\(name) is no part such as 2of3") }
        return part
    }

    /// Returns one part of several, such as `2of3`. Each check is in one of the parts. Nil if there is no such part.
    package static func part(_ part: String, of checks: [BackendContract]) -> [BackendContract]? {
        let numbers = part.split(separator: "of", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard numbers.count == 2, numbers[0] > 0, numbers[0] <= numbers[1], numbers[1] <= checks.count else {
            return nil
        }
        return stride(from: numbers[0] - 1, to: checks.count, by: numbers[1]).map { checks[$0] }
    }

    /// Runs this check. Failed expectations are recorded as issues.
    public func check(_ peer: some ContractPeer) async throws {
        let contract = Contract(peer: peer)
        try await peer.reset()
        switch self {
        case .discoveryReportsEveryAdvertisementField: try await contract.advertisementFields()
        case .discoveryFiltersByService: try await contract.serviceFilter()
        case .discoveryKeepsToItsTransport: try await contract.transports()
        case .discoveryStopsWithItsLastScan: try await contract.scanEnd()
        case .discoveryReportsLostPeripherals: try await contract.lostPeripherals()
        case .discoveryReportsEachChangeOfStrength: try await contract.strengthChanges()
        case .discoveryFindsWhatHasNoKnownStrength: try await contract.unknownStrength()
        case .discoveryReportsPeripheralsWithALink: try await contract.linkedPeripherals()
        case .strongestIsConnectedAutomatically: try await contract.autoConnection()
        case .handlersRunOnEachLink: try await contract.connectionHandlers()
        case .disconnectDuringAnOperationIsLocal: try await contract.disconnectDuringOperation()
        case .connectionGoesThroughItsStatesAndKnowsTheServices: try await contract.connectionStates()
        case .unknownPeripheralIsNotFound: try await contract.unknownPeripheral()
        case .savedIDIsReachableWithoutAScan: try await contract.savedID()
        case .invalidIDIsRefused: try await contract.invalidID()
        case .vanishedPeripheralRunsIntoTheDeadline: try await contract.vanishedPeripheral()
        case .cancelledConnectLeavesNoLink: try await contract.cancelledConnect()
        case .disconnectEndsAPendingConnect: try await contract.disconnectDuringConnect()
        case .peerDisconnectIsSeenAsStateAndAsFailedOperation:
            try await contract.linkEnd { try await peer.disconnect() }
        case .linkLossIsSeenAsStateAndAsFailedOperation: try await contract.linkEnd { try await peer.loseLink() }
        case .linkComesBackAfterDisconnect: try await contract.reconnect()
        case .shutDownEndsLinks: try await contract.shutDown()
        case .readsGiveValues: try await contract.reads()
        case .missingAttributesAreNamed: try await contract.missingAttributes()
        case .writesArrive: try await contract.writes()
        case .longWritesArriveWhole: try await contract.longWrites()
        case .forbiddenOperationsAreRefused: try await contract.forbidden()
        case .descriptorsCanBeRead: try await contract.descriptors()
        case .treeShowsRepeatedTypesAndIncludedServices: try await contract.tree()
        case .descriptorsTellNameAndFormat: try await contract.presentation()
        case .partsOfValuesAreReadAndWritten: try await contract.parts()
        case .reliableWritesArriveWhole: try await contract.reliableWrites()
        case .packetLengthLimitsCommands: try await contract.packetLength()
        case .signalStrengthOfALinkIsMeasuredOrRefused: try await contract.signalStrength()
        case .connectedPeripheralsAreFoundByService: try await contract.connectedByService()
        case .controlPointsAnswer: try await contract.controlPoint()
        case .addedServicesLeaveTheOthers: try await contract.addedServices()
        case .removedServicesEndWhatUsesThem: try await contract.removedServices()
        case .movedServicesAreFoundAgain: try await contract.movedServices()
        case .servicesThatChangeBetweenLinksAreFoundOnTheNext: try await contract.servicesOfNextLink()
        case .unansweredRequestsEnd: try await contract.unansweredRequests()
        case .cancelledOperationsEndAndLeaveTheLink: try await contract.cancelledOperations()
        case .deadlinesEndOperationsAndLeaveTheLink: try await contract.deadlines()
        case .notificationsAreCompleteAndInOrder: try await contract.notificationOrder()
        case .profileMeasurementsArriveFromTheFirst: try await contract.measurements()
        case .subscribersShareOneRegistration: try await contract.sharedSubscription()
        case .notificationsResumeOnceAfterReconnect: try await contract.notificationsAfterReconnect()
        case .readsAreNoNotifications: try await contract.readsWhileSubscribed()
        case .declaredValuesAreKeptUpToDate: try await contract.declaredValues()
        case .readableValuesAreReadOnEachLink: try await contract.readableValues()
        case .emptyValuesAreNotified: try await contract.emptyNotifications()
        case .socketsDeliverAllInOrder: try await contract.socketOrder()
        case .slowReadersOfSocketsMissNothing: try await contract.slowSocketReader()
        case .socketsTakenAwayAreReplaced: try await contract.socketTakenAway()
        case .socketsEndWithTheLink: try await contract.socketAfterReconnect()
        case .indicationsNeedNoSocket: try await contract.indicationsForSocketReader()
        case .channelsCarryPacketsBothWays: try await contract.channelPackets()
        case .channelsAreRefused: try await contract.channelRefusals()
        case .channelsEndWithEitherSideAndTheLink: try await contract.channelEnds()
        case .slowReadersOfChannelsMissNothing: try await contract.slowChannelReader()
        case .fullChannelsWait: try await contract.fullChannel()
        case .channelsAreSecured: try await contract.channelSecurity()
        case .writersSendAllInOrder: try await contract.writerOrder()
        case .writersAreExclusive: try await contract.exclusiveWriter()
        case .writersEndWithTheLink: try await contract.writerAtLinkEnd()
        case .adaptersAreSwitchedOffAndOn: try await contract.switchedAdapter()
        case .adaptersAreNamed: try await contract.namedAdapter()
        case .unknownAdaptersAreNotFound: try await contract.unknownAdapter()
        case .blockedAdaptersCannotBeSwitchedOn: try await contract.blockedAdapter()
        case .pairingJustWorks: try await contract.justWorks()
        case .protectedAttributesPairByThemselves: try await contract.pairingByReading()
        case .refusedPairingFailsTheOperation: try await contract.refusedPairingByReading()
        case .unansweredPairingEndsTheOperation: try await contract.unansweredQuestion()
        case .peripheralMayRefuseToPair: try await contract.rejectedPairing()
        case .passkeysAreEntered: try await contract.enteredPasskey()
        case .passkeysAreShown: try await contract.shownPasskey()
        case .numbersAreCompared: try await contract.comparison()
        case .weakPairingDoesNotOpenSealedAttributes: try await contract.weakPairing()
        case .bondsOutlastLinksAndRestarts: try await contract.bondedReturn()
        case .cancelledPairingLeavesNothing: try await contract.cancelledPairing()
        case .deadlineEndsAPairing: try await contract.pairingDeadline()
        case .linkLossEndsAPairing: try await contract.pairingLinkLoss()
        case .trustAndBlocking: try await contract.settings()
        case .powerOffEndsScansAndLinks: try await contract.powerOff()
        case .scansTellWhyTheyWait: try await contract.waitingScans()
        case .centralsStartWhileTheAdapterIsOff: try await contract.startWhileOff()
        case .deathOfBluetoothFailsWhatIsPending: try await contract.deathOfBluetooth()
        case .bluetoothIsUsableAfterRestart: try await contract.restart()
        case .maintainedLinkOutlastsTheLossOfTheLink:
            try await contract.maintainedLink { try await peer.loseLink() }
        case .maintainedLinkOutlastsPowerOff: try await contract.maintainedLink { try await contract.powerCycle() }
        case .maintainedLinkOutlastsUnplugging: try await contract.maintainedLink { try await contract.replug() }
        case .maintainedLinkOutlastsTheDeathOfBluetooth:
            try await contract.maintainedLink { try await contract.rebirth() }
        case .scansOutlastPowerOffUnpluggingAndDeath: try await contract.scanOutlastsEverything()
        case .idleLinksEnd: try await contract.idleLink()
        }
    }
}
