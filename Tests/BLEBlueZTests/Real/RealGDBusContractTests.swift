import BLE
import BLEBackendTesting
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// The core of both contracts on the real bluetoothd, over GDBus: what each kind of message, descriptors and losses take.
/// Runs inside `Scripts/with-bluez` only: `Scripts/test` sees to that.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealGDBusContractTests {
    private static let central: [BackendContract] = [
        .discoveryReportsEveryAdvertisementField, .connectionGoesThroughItsStatesAndKnowsTheServices,
        .readsGiveValues, .longWritesArriveWhole, .forbiddenOperationsAreRefused,
        .cancelledOperationsEndAndLeaveTheLink, .notificationsAreCompleteAndInOrder, .socketsDeliverAllInOrder,
        .writersSendAllInOrder, .passkeysAreShown, .powerOffEndsScansAndLinks, .deathOfBluetoothFailsWhatIsPending,
        .maintainedLinkOutlastsTheDeathOfBluetooth, .shutDownEndsLinks,
    ]
    private static let peripheral: [PeripheralContract] = [
        .advertisedContentIsReceived, .storedValuesAreReadAndWritten, .rejectionsArriveAsTheirCodes,
        .longWritesArriveWhole, .valuesArriveInOrder, .indicationsAreConfirmed, .restartsOfBluetoothAreSurvived,
        .shutDownEndsWhatIsServed,
    ]

    @Test(arguments: central)
    func contract(_ item: BackendContract) async throws {
        try await item.check(RealPeer(transport: .gdbus))
    }

    @Test(arguments: peripheral)
    func `contract of the peripheral role`(_ item: PeripheralContract) async throws {
        try await item.check(RealServingPeer(transport: .gdbus))
    }
}
