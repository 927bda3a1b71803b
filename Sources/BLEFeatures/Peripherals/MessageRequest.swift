public import BLE

/// A request that a central has sent to a ``MessagePeripheral``.
public struct MessageRequest: Sendable, Hashable {
    /// The command.
    public let command: MessageCommand
    /// The payload, decrypted.
    public let payload: [UInt8]
    /// Whether the request was encrypted. If so, the reply is encrypted, too.
    public let isEncrypted: Bool
    /// The central that has sent the request.
    public let central: DeviceID

    /// Creates a request, for a test of a handler.
    public init(
        _ command: MessageCommand, payload: [UInt8] = [], isEncrypted: Bool = false, from central: DeviceID
    ) {
        self.command = command
        self.payload = payload
        self.isEncrypted = isEncrypted
        self.central = central
    }
}

/// The reason why a request is not answered. A device tells it to its central if both use a command for rejections; see
/// ``Devices/Configuration/rejections``.
public enum MessageRejection: Error, Hashable, Sendable {
    /// The device does not know the command.
    case unknownCommand
    /// The payload is not valid for the command.
    case wrongPayload
    /// The command requires an encrypted message.
    case notEncrypted
    /// The device does not allow the central to pair now.
    case pairingRefused
    /// The device already stores ``MessagePeripheral/maximumPairings`` pairings.
    case tooManyPairings
    /// The central has completed a key exchange while another central holds the session, because the system does not
    /// distinguish them.
    case sessionClaimed
    /// The message is a reply or a notification.
    case notARequest
    /// The device has no keys for the message, or cannot decrypt it with them.
    case undecipherable
    /// The device could not carry out the command.
    case failed
    /// A reason of the product.
    case product(ProductCode)

    /// A product's reason, a number from 0x80 to 0xFF.
    public struct ProductCode: Hashable, Sendable {
        /// The number, 0x80 to 0xFF.
        public let rawValue: UInt8

        /// Creates a reason. Nil if the number is below 0x80.
        public init?(rawValue: UInt8) {
            guard rawValue >= 0x80 else { return nil }
            self.rawValue = rawValue
        }
    }
}

extension MessageRejection {
    /// The reasons, in the order of their codes, from 1.
    private static let numbered: [MessageRejection] = [
        .unknownCommand, .wrongPayload, .notEncrypted, .pairingRefused, .tooManyPairings, .sessionClaimed, .notARequest,
        .undecipherable, .failed,
    ]

    /// The code, which a rejection has on its way: 1 to 9 in the order of the cases, 0x80 to 0xFF for those of the
    /// product.
    public var code: UInt8 {
        if case .product(let code) = self { return code.rawValue }
        return UInt8(Self.numbered.firstIndex(of: self)! + 1)
    }

    /// Creates the reason with a code. Nil for 0 and for 10 to 0x7F, which are not used.
    public init?(code: UInt8) {
        if let product = ProductCode(rawValue: code) {
            self = .product(product)
        } else if Self.numbered.indices.contains(Int(code) - 1) {
            self = Self.numbered[Int(code) - 1]
        } else {
            return nil
        }
    }

    /// A description of the reason.
    var message: String {
        switch self {
        case .unknownCommand: "it does not know the command"
        case .wrongPayload: "the payload is not valid for the command"
        case .notEncrypted: "the command requires an encrypted message"
        case .pairingRefused: "it does not allow pairing now"
        case .tooManyPairings: "it stores no more pairings"
        case .sessionClaimed: "another central uses it"
        case .notARequest: "the message is not a request"
        case .undecipherable: "it cannot decrypt the message"
        case .failed: "it could not carry out the command"
        case .product(let code): "the product's reason is \(Hex.string([code.rawValue]))"
        }
    }

    /// Whether the same request may be answered later.
    var isRetryable: Bool {
        self == .sessionClaimed
    }
}

/// A notification that a request is not answered: its command in two bytes, 1 if it was encrypted or 0, the code of the
/// reason, and in `bound` mode the counter of an encrypted request in eight bytes, the highest first.
struct RejectedRequest {
    let key: MessageCodec.Key
    let reason: MessageRejection
    let counter: UInt64?

    init(_ key: MessageCodec.Key, _ reason: MessageRejection, counter: UInt64? = nil) {
        (self.key, self.reason, self.counter) = (key, reason, counter)
    }

    /// Nil if the bytes are no rejection. Further bytes are ignored.
    init?(_ payload: [UInt8]) {
        guard payload.count >= 4, payload[2] <= 1, let reason = MessageRejection(code: payload[3]) else { return nil }
        key = MessageCodec.Key(
            command: MessageCommand(command: payload[0], namespace: payload[1]), isEncrypted: payload[2] == 1)
        self.reason = reason
        let rest = payload.dropFirst(4).prefix(8)
        counter = rest.count == 8 ? rest.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    var payload: [UInt8] {
        let counter = counter.map { counter in
            (0..<8).reversed().map { UInt8(truncatingIfNeeded: counter >> (8 * $0)) }
        }
        return [key.command.command, key.command.namespace, key.isEncrypted ? 1 : 0, reason.code] + (counter ?? [])
    }

    /// Whether a message that says so may be believed. Nobody but the device can encrypt one. It cannot encrypt it if
    /// it has no keys, which a key exchange will show.
    func isCredible(isEncrypted: Bool) -> Bool {
        isEncrypted || !key.isEncrypted || reason == .undecipherable
    }

    var error: BLEError {
        BLEError(
            .messageRejected, "the device rejected message \(key.command): \(reason.message)",
            isRetryable: reason.isRetryable,
            remedy: reason == .pairingRefused
                ? "Check that the device allows pairing now, for example while its button is held." : nil,
            cause: reason)
    }
}
