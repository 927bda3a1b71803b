import Testing

@testable import BLE

@Suite struct BLEErrorTests {
    private let strap = Peripheral.ID(rawValue: "F0:F1")

    @Test func `a bare error describes itself with code and message`() {
        #expect(BLEError(.timedOut, "reading took too long").description == "timedOut: reading took too long")
    }

    @Test func `a full error says where, what was answered and what helps`() {
        let error = BLEError(
            .pairingRequired, "the attribute requires a paired link", attError: .insufficientEncryption,
            stackErrorName: "org.bluez.Error.NotPermitted", peripheral: strap, service: BluetoothUUID(0x180F),
            characteristic: BluetoothUUID(0x2A19), remedy: "Pair with the peripheral.")
        #expect(
            error.description == "pairingRequired: the attribute requires a paired link "
                + "(peripheral F0:F1, service 180f, characteristic 2a19) "
                + "[ATT error 0x0f (insufficient encryption), org.bluez.Error.NotPermitted] — Pair with the peripheral."
        )
    }

    @Test func `a place that is partly known is partly described`() {
        #expect(
            BLEError(.failed, "no", characteristic: BluetoothUUID(0x2A19)).description
                == "failed: no (characteristic 2a19)")
        #expect(
            BLEError(.failed, "no", attError: .outOfRange).description == "failed: no [ATT error 0xff (out of range)]")
    }

    @Test(arguments: [
        BLEError.Code.connectionFailed, .disconnected, .busy, .timedOut, .bluetoothLost, .peripheralNotFound,
        .scanFailed, .disconnectionFailed, .serviceDiscoveryFailed,
    ])
    func `what passes by itself can be retried`(_ code: BLEError.Code) {
        #expect(BLEError(code, "").isRetryable)
        #expect(!BLEError(code, "", isRetryable: false).isRetryable)
    }

    @Test(arguments: [
        BLEError.Code.bluetoothUnavailable, .adapterNotFound, .poweredOff, .blocked, .unauthorized,
        .ambiguousPeripheral,
        .connectionCancelled, .serviceNotFound, .characteristicNotFound, .notSupported, .notPermitted,
        .pairingRequired, .attributeError, .invalidOffset, .invalidLength, .invalidValue, .invalidArgument, .cancelled,
        .overflow, .shutDown, .failed, BLEError.Code(rawValue: "somethingNew"),
    ])
    func `what stays as it is cannot be retried`(_ code: BLEError.Code) {
        #expect(!BLEError(code, "").isRetryable)
        #expect(BLEError(code, "", isRetryable: true).isRetryable)
    }

    @Test func `an error learns where it happened and keeps what it knew`() {
        let service = BluetoothUUID(0x180F)
        let bare = BLEError(.failed, "").at(strap, service: service)
        #expect(bare.peripheral == strap)
        #expect(bare.service == service)
        #expect(bare.characteristic == nil)
        let other = bare.at(
            Peripheral.ID(rawValue: "other"), service: BluetoothUUID(1), characteristic: BluetoothUUID(2))
        #expect(other.peripheral == strap)
        #expect(other.service == service)
        #expect(other.characteristic == BluetoothUUID(2))
    }

    @Test(arguments: [
        (ATTError.insufficientAuthentication, BLEError.Code.pairingRequired),
        (.insufficientEncryption, .pairingRequired), (.encryptionKeySizeTooShort, .pairingRequired),
        (.readNotPermitted, .notPermitted), (.writeNotPermitted, .notPermitted),
        (.insufficientAuthorization, .notPermitted), (.requestNotSupported, .notSupported),
        (.invalidOffset, .invalidOffset), (.invalidAttributeValueLength, .invalidLength),
        (.invalidHandle, .attributeError), (.unlikelyError, .attributeError), (.outOfRange, .attributeError),
        (ATTError(rawValue: 0x80), .attributeError), (ATTError(rawValue: 0), .attributeError),
    ])
    func `an answer of the peripheral becomes a code and is kept`(_ answer: ATTError, _ code: BLEError.Code) {
        let error = BLEError(answer)
        #expect(error.code == code)
        #expect(error.attError == answer)
        #expect(!error.isRetryable)
    }

    @Test(arguments: [
        ATTError.prepareQueueFull, .insufficientResources, .databaseOutOfSync, .procedureInProgress,
    ])
    func `what the peripheral cannot do now it may do later`(_ answer: ATTError) {
        let error = BLEError(answer)
        #expect(error.code == .attributeError)
        #expect(error.isRetryable)
    }

    @Test func `pairing is the remedy where it helps`() {
        #expect(BLEError(ATTError.insufficientEncryption).remedy != nil)
        #expect(BLEError(ATTError.unlikelyError).remedy == nil)
    }

    @Test func `answers about security are distinguished from others`() {
        let all = (UInt8.min...UInt8.max).map(ATTError.init(rawValue:))
        #expect(all.filter(\.isSecurity).map(\.rawValue) == [0x05, 0x08, 0x0C, 0x0F])
    }

    @Test func `an ATT error describes itself with two digits`() {
        #expect(ATTError.unlikelyError.description == "ATT error 0x0e (unlikely error)")
        #expect(ATTError(rawValue: 0x80).description == "ATT error 0x80 (application error)")
        #expect(ATTError(rawValue: 0x30).description == "ATT error 0x30")
    }

    // MARK: After a failure

    @Test(arguments: [BLEError.Code.disconnected, .timedOut, .cancelled, .bluetoothLost, .shutDown, .failed, .overflow])
    func `an operation without an answer may have been carried out`(_ code: BLEError.Code) {
        #expect(BLEError(code, "").mayHaveReachedPeripheral)
        #expect(BLEError(code, "").isCancellation == (code == .cancelled))
    }

    @Test(arguments: [
        BLEError.Code.notSupported, .invalidLength, .characteristicNotFound, .peripheralNotFound, .connectionFailed,
        .poweredOff, .busy, .bluetoothUnavailable,
    ])
    func `an operation that was not sent has not been carried out`(_ code: BLEError.Code) {
        #expect(!BLEError(code, "").mayHaveReachedPeripheral)
    }

    @Test func `an operation that the peripheral rejected has not been carried out`() {
        #expect(!BLEError(.failed, "", attError: .writeNotPermitted).mayHaveReachedPeripheral)
    }
}
