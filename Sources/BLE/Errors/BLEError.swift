/// What went wrong, where, and what helps.
///
/// Match on ``code``; everything else is detail that may be absent.
public struct BLEError: Error, Sendable {
    /// The kind of error. Open: later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// A stable name, the same as the constant's.
        public let rawValue: String
        /// Any code.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// There is no Bluetooth service to talk to: no bus, no bluetoothd.
        public static let bluetoothUnavailable = Code(rawValue: "bluetoothUnavailable")
        /// There is no adapter, or not the one asked for.
        public static let adapterNotFound = Code(rawValue: "adapterNotFound")
        /// The adapter is switched off.
        public static let poweredOff = Code(rawValue: "poweredOff")
        /// A radio kill switch (rfkill) holds the adapter off.
        public static let blocked = Code(rawValue: "blocked")
        /// The scan could not be started.
        public static let scanFailed = Code(rawValue: "scanFailed")
        /// The system does not let this user use Bluetooth.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The peripheral is not known, or no longer.
        public static let peripheralNotFound = Code(rawValue: "peripheralNotFound")
        /// A name prefix fits several peripherals.
        public static let ambiguousPeripheral = Code(rawValue: "ambiguousPeripheral")
        /// The link could not be made.
        public static let connectionFailed = Code(rawValue: "connectionFailed")
        /// A disconnect ended the attempt to connect.
        public static let connectionCancelled = Code(rawValue: "connectionCancelled")
        /// The link could not be ended.
        public static let disconnectionFailed = Code(rawValue: "disconnectionFailed")
        /// The services of a connected peripheral could not be discovered.
        public static let serviceDiscoveryFailed = Code(rawValue: "serviceDiscoveryFailed")
        /// There is no link, or it ended while the operation was under way.
        public static let disconnected = Code(rawValue: "disconnected")
        /// The peripheral has no such service.
        public static let serviceNotFound = Code(rawValue: "serviceNotFound")
        /// The peripheral has no such characteristic or descriptor.
        public static let characteristicNotFound = Code(rawValue: "characteristicNotFound")
        /// The attribute does not allow this operation.
        public static let notSupported = Code(rawValue: "notSupported")
        /// The system or the peripheral refuses the operation.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// The attribute wants an encrypted or authenticated link; pairing would help.
        public static let pairingRequired = Code(rawValue: "pairingRequired")
        /// The peripheral answered with another ATT error, see ``BLEError/attError``.
        public static let attributeError = Code(rawValue: "attributeError")
        /// The offset is past the value's end.
        public static let invalidOffset = Code(rawValue: "invalidOffset")
        /// The value to write has a length that the attribute does not take.
        public static let invalidLength = Code(rawValue: "invalidLength")
        /// The value received is not what its type says: too short, out of range.
        public static let invalidValue = Code(rawValue: "invalidValue")
        /// An argument makes no sense.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// A request on this control point waits for its answer already.
        public static let requestInProgress = Code(rawValue: "requestInProgress")
        /// The peripheral took a request on a control point and answered that it could not do it; see ``BLEError/result(_:)``.
        public static let procedureFailed = Code(rawValue: "procedureFailed")
        /// Somebody else is doing the same, and does not finish.
        public static let busy = Code(rawValue: "busy")
        /// The deadline passed.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// bluetoothd, or the bus, went away while the operation was under way.
        public static let bluetoothLost = Code(rawValue: "bluetoothLost")
        /// The reader was slower than the stream's policy allows.
        public static let overflow = Code(rawValue: "overflow")
        /// The central was shut down.
        public static let shutDown = Code(rawValue: "shutDown")
        /// Anything else.
        public static let failed = Code(rawValue: "failed")
    }

    /// The kind of error.
    public var code: Code
    /// One sentence for a person, without the names of peripheral and attribute.
    public var message: String
    /// The peripheral's own answer, when it gave one.
    public var attError: ATTError?
    /// The error name on the bus, such as `org.bluez.Error.Failed`, when the error came over it.
    public var busErrorName: String?
    /// The peripheral that was talked to.
    public var peripheral: Peripheral.ID?
    /// The service that was talked to.
    public var service: BluetoothUUID?
    /// The characteristic that was talked to.
    public var characteristic: BluetoothUUID?
    /// What was looked for and not discovered.
    public var undiscovered: [BluetoothUUID]
    /// Why the link ended, where it did.
    public var disconnectReason: DisconnectReason?
    /// True when the same call, made again a little later, may well succeed.
    public var isRetryable: Bool
    /// What a person can do about it, one sentence.
    public var remedy: String?
    /// The error behind this one.
    public var cause: (any Error)?

    /// An error. `isRetryable` defaults to what is usual for `code`.
    public init(
        _ code: Code, _ message: String, attError: ATTError? = nil, busErrorName: String? = nil,
        peripheral: Peripheral.ID? = nil, service: BluetoothUUID? = nil, characteristic: BluetoothUUID? = nil,
        undiscovered: [BluetoothUUID] = [], disconnectReason: DisconnectReason? = nil, isRetryable: Bool? = nil,
        remedy: String? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.attError = attError
        self.busErrorName = busErrorName
        self.peripheral = peripheral
        self.service = service
        self.characteristic = characteristic
        self.undiscovered = undiscovered
        self.disconnectReason = disconnectReason
        self.isRetryable = isRetryable ?? Self.usuallyRetryable.contains(code)
        self.remedy = remedy
        self.cause = cause
    }

    private static let usuallyRetryable: Set<Code> = [
        .connectionFailed, .disconnected, .requestInProgress, .busy, .timedOut, .bluetoothLost, .peripheralNotFound,
        .scanFailed, .disconnectionFailed, .serviceDiscoveryFailed,
    ]

    /// The same error, saying where it happened; what is known already stays. For profiles that decode by themselves.
    public func at(
        _ peripheral: Peripheral.ID, service: BluetoothUUID? = nil, characteristic: BluetoothUUID? = nil
    ) -> BLEError {
        var error = self
        error.peripheral = error.peripheral ?? peripheral
        error.service = error.service ?? service
        error.characteristic = error.characteristic ?? characteristic
        return error
    }

    package static let cancelled = BLEError(.cancelled, "the task was cancelled")
    package static let shutDown = BLEError(.shutDown, "the central was shut down")
}

extension BLEError: CustomStringConvertible {
    /// One line: the message, where it happened, what the peripheral or the bus said, and the remedy.
    public var description: String {
        var text = "\(code): \(message)"
        let place = [
            peripheral.map { "peripheral \($0)" }, service.map { "service \($0)" },
            characteristic.map { "characteristic \($0)" },
        ].compactMap { $0 }
        if !place.isEmpty { text += " (\(place.joined(separator: ", ")))" }
        let answer = [attError?.description, busErrorName].compactMap { $0 }
        if !answer.isEmpty { text += " [\(answer.joined(separator: ", "))]" }
        if let remedy { text += " — \(remedy)" }
        return text
    }
}
