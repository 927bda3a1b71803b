internal import BLE

/// The Security Manager on one link (Core Specification 5.4, volume 3, part H, section 3.5). A pairing that the central
/// begins is a call, which ends when the link is encrypted.
struct PairingConversation {
    static let pairingRequest: UInt8 = 0x01
    static let pairingResponse: UInt8 = 0x02
    static let pairingFailed: UInt8 = 0x05
    /// The reason that a device does not pair.
    static let notSupported: UInt8 = 0x05
    static let unspecified: UInt8 = 0x08

    private let peripheral: DeviceID
    private var call: Int?

    init(_ peripheral: DeviceID) { self.peripheral = peripheral }

    /// Takes a PDU of the Security Manager. False if it is malformed.
    mutating func take(_ pdu: ArraySlice<UInt8>, isSent: Bool, _ log: inout EntryLog) -> Bool {
        var reader = PacketReader(pdu)
        guard let code = reader.uint8() else { return false }
        switch code {
        case Self.pairingRequest where isSent:
            if call == nil { call = log.call(RecordedEntry(.pair, peripheral: peripheral)) }
        case Self.pairingFailed:
            guard let reason = reader.uint8() else { return false }
            end(Self.error(reason), &log)
        default: break
        }
        return true
    }

    /// The controller has begun to encrypt the link, or could not.
    mutating func encryptionChanged(status: UInt8, _ log: inout EntryLog) {
        end(status == 0 ? nil : .pairingFailed("the link could not be encrypted"), &log)
    }

    mutating func linkEnded(_ error: BLEError, _ log: inout EntryLog) { end(error, &log) }

    private mutating func end(_ error: BLEError?, _ log: inout EntryLog) {
        guard let call else { return }
        self.call = nil
        log.reply(call, error: error?.at(peripheral))
    }

    private static func error(_ reason: UInt8) -> BLEError {
        let names: [UInt8: String] = [
            0x01: "no passkey was entered", 0x03: "the peripheral requires authentication",
            0x04: "the numbers are not equal", 0x06: "the key is too short", 0x09: "there were too many attempts",
            0x0B: "a check value is wrong", 0x0C: "the numbers are not equal",
        ]
        guard reason != notSupported else {
            return BLEError(.pairingRejected, "the peripheral does not accept pairing at present")
        }
        return .pairingFailed(names[reason] ?? "SMP reason 0x\(Hex.string([reason]))")
    }
}
