import BLE
import BLEBackendTesting
import BLETesting
import Testing

/// The contract over a proxy, as far as its protocol goes: it has no adapters to switch, no numbers for pairing, no
/// channels, no included services, no parts of values, and does not tell that services have changed.
@Suite(.hangLimit)
struct ProxyContractTests {
    static let supported: [BackendContract] = [
        .discoveryReportsEveryAdvertisementField, .discoveryFiltersByService, .discoveryKeepsToItsTransport,
        .discoveryStopsWithItsLastScan, .discoveryReportsLostPeripherals, .discoveryReportsEachChangeOfStrength,
        .discoveryFindsWhatHasNoKnownStrength, .discoveryReportsPeripheralsWithALink,
        .strongestIsConnectedAutomatically, .handlersRunOnEachLink, .disconnectDuringAnOperationIsLocal,
        .connectionGoesThroughItsStatesAndKnowsTheServices, .unknownPeripheralIsNotFound,
        .savedIDIsReachableWithoutAScan, .invalidIDIsRefused, .vanishedPeripheralRunsIntoTheDeadline,
        .cancelledConnectLeavesNoLink, .disconnectEndsAPendingConnect,
        .peerDisconnectIsSeenAsStateAndAsFailedOperation, .linkLossIsSeenAsStateAndAsFailedOperation,
        .linkComesBackAfterDisconnect, .shutDownEndsLinks, .readsGiveValues, .missingAttributesAreNamed,
        .writesArrive, .longWritesArriveWhole, .forbiddenOperationsAreRefused, .descriptorsCanBeRead,
        .descriptorsTellNameAndFormat, .packetLengthLimitsCommands, .signalStrengthOfALinkIsMeasuredOrRefused,
        .connectedPeripheralsAreFoundByService, .controlPointsAnswer, .unansweredRequestsEnd,
        .cancelledOperationsEndAndLeaveTheLink, .deadlinesEndOperationsAndLeaveTheLink,
        .notificationsAreCompleteAndInOrder, .profileMeasurementsArriveFromTheFirst,
        .subscribersShareOneRegistration, .notificationsResumeOnceAfterReconnect, .readsAreNoNotifications,
        .declaredValuesAreKeptUpToDate, .emptyValuesAreNotified,
        .maintainedLinkOutlastsTheLossOfTheLink, .idleLinksEnd,
    ]

    @Test(arguments: supported.filter(Set(BackendContract.selected).contains))
    func contract(_ item: BackendContract) async throws {
        let peer = try await ProxiedPeer()
        try await item.check(peer)
        await peer.end()
    }
}
