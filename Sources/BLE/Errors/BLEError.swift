/// An error from a Bluetooth operation, with its location and a suggested remedy.
///
/// Match on ``code``. All other properties are details and may be absent.
public struct BLEError: Error, Sendable {
    /// The kind of error. Later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
        /// A stable name, identical to the constant's name.
        public let rawValue: String
        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// No Bluetooth service is available: with BlueZ, no bus or no bluetoothd.
        public static let bluetoothUnavailable = Code(rawValue: "bluetoothUnavailable")
        /// There is no adapter, or no adapter with the requested id.
        public static let adapterNotFound = Code(rawValue: "adapterNotFound")
        /// The adapter is powered off.
        public static let poweredOff = Code(rawValue: "poweredOff")
        /// A radio kill switch (rfkill) blocks the adapter.
        public static let blocked = Code(rawValue: "blocked")
        /// The scan could not be started.
        public static let scanFailed = Code(rawValue: "scanFailed")
        /// This user is not permitted to use Bluetooth.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The peripheral is not known to the system, or no longer known.
        public static let peripheralNotFound = Code(rawValue: "peripheralNotFound")
        /// A name prefix matches several peripherals.
        public static let ambiguousPeripheral = Code(rawValue: "ambiguousPeripheral")
        /// The link could not be established.
        public static let connectionFailed = Code(rawValue: "connectionFailed")
        /// A disconnect ended the attempt to connect.
        public static let connectionCancelled = Code(rawValue: "connectionCancelled")
        /// The link could not be ended.
        public static let disconnectionFailed = Code(rawValue: "disconnectionFailed")
        /// The services of a connected peripheral could not be discovered.
        public static let serviceDiscoveryFailed = Code(rawValue: "serviceDiscoveryFailed")
        /// There is no link, or it ended during the operation.
        public static let disconnected = Code(rawValue: "disconnected")
        /// The peripheral has no such service.
        public static let serviceNotFound = Code(rawValue: "serviceNotFound")
        /// The peripheral has no such characteristic or descriptor.
        public static let characteristicNotFound = Code(rawValue: "characteristicNotFound")
        /// The attribute does not allow this operation.
        public static let notSupported = Code(rawValue: "notSupported")
        /// The system or the peripheral refuses the operation.
        public static let notPermitted = Code(rawValue: "notPermitted")
        /// The attribute requires an encrypted or authenticated link. Pairing may help.
        public static let pairingRequired = Code(rawValue: "pairingRequired")
        /// The peripheral responded with another ATT error; see ``BLEError/attError``.
        public static let attributeError = Code(rawValue: "attributeError")
        /// The peripheral refused an L2CAP channel: nothing accepts channels at the number, or not this one.
        public static let channelRefused = Code(rawValue: "channelRefused")
        /// The offset is past the value's end.
        public static let invalidOffset = Code(rawValue: "invalidOffset")
        /// The attribute does not accept a value of this length.
        public static let invalidLength = Code(rawValue: "invalidLength")
        /// The value does not conform to its type: it is too short, too long, or out of range.
        public static let invalidValue = Code(rawValue: "invalidValue")
        /// An argument is invalid.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// Another request on this control point is waiting for its answer.
        public static let requestInProgress = Code(rawValue: "requestInProgress")
        /// The peripheral accepted a request on a control point, but reported that it failed; see
        /// ``BLEError/result(_:)``.
        public static let procedureFailed = Code(rawValue: "procedureFailed")
        /// Another client uses the resource.
        public static let busy = Code(rawValue: "busy")
        /// The deadline passed.
        public static let timedOut = Code(rawValue: "timedOut")
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The Bluetooth service, or the connection to it, stopped during the operation.
        public static let bluetoothLost = Code(rawValue: "bluetoothLost")
        /// The reader was slower than the stream's overflow policy allows.
        public static let overflow = Code(rawValue: "overflow")
        /// The central was shut down.
        public static let shutDown = Code(rawValue: "shutDown")
        /// Anything else.
        public static let failed = Code(rawValue: "failed")
    }

    /// The kind of error.
    public var code: Code
    /// A sentence for the user, without the names of the peripheral and the attribute.
    public var message: String
    /// The ATT error that the peripheral responded with, if it did.
    public var attError: ATTError?
    /// The name that the Bluetooth stack gave the error, such as `org.bluez.Error.Failed`. Nil if it gave none.
    public var stackErrorName: String?
    /// The peripheral on which the operation failed.
    public var peripheral: Peripheral.ID?
    /// The service on which the operation failed.
    public var service: BluetoothUUID?
    /// The characteristic on which the operation failed.
    public var characteristic: BluetoothUUID?
    /// The UUIDs that were looked up and not found.
    public var missingUUIDs: [BluetoothUUID]
    /// The reason that the link ended, if it did.
    public var disconnectReason: DisconnectReason?
    /// Whether the same call may succeed if it is repeated a little later.
    public var isRetryable: Bool
    /// A suggested remedy for the user, in one sentence.
    public var remedy: String?
    /// The underlying error.
    public var cause: (any Error)?

    /// Creates an error. `isRetryable` defaults to the usual value for `code`.
    public init(
        _ code: Code, _ message: String, attError: ATTError? = nil, stackErrorName: String? = nil,
        peripheral: Peripheral.ID? = nil, service: BluetoothUUID? = nil, characteristic: BluetoothUUID? = nil,
        missingUUIDs: [BluetoothUUID] = [], disconnectReason: DisconnectReason? = nil, isRetryable: Bool? = nil,
        remedy: String? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.attError = attError
        self.stackErrorName = stackErrorName
        self.peripheral = peripheral
        self.service = service
        self.characteristic = characteristic
        self.missingUUIDs = missingUUIDs
        self.disconnectReason = disconnectReason
        self.isRetryable = isRetryable ?? Self.usuallyRetryable.contains(code)
        self.remedy = remedy
        self.cause = cause
    }

    /// Whether the task was cancelled. Waits of this framework then throw this error instead of `CancellationError`,
    /// which `Task.sleep` and other functions throw:
    ///
    /// ```swift
    /// do throws(BLEError) {
    ///     try await strap.write(0x01, to: .controlPoint)
    /// } catch {
    ///     if error.isCancellation { return }
    ///     throw error
    /// }
    /// ```
    public var isCancellation: Bool { code == .cancelled }

    /// Whether the peripheral may have performed the operation although it failed, so that a repetition may perform it
    /// twice.
    ///
    /// False if nothing was sent, or if the peripheral rejected the operation (``attError``). True if this is
    /// uncertain: no answer arrived before a deadline, a cancellation, or the end of the link or of Bluetooth, or the
    /// answer could not be decoded.
    public var mayHaveReachedPeripheral: Bool { attError == nil && Self.unanswered.contains(code) }

    private static let unanswered: Set<Code> = [
        .disconnected, .timedOut, .cancelled, .bluetoothLost, .shutDown, .failed, .invalidValue, .overflow, unreplied,
        // The device replied, but the reply could not be interpreted.
        Code(rawValue: "invalidMessage"), Code(rawValue: "invalidMessageType"),
    ]

    private static let usuallyRetryable: Set<Code> = [
        .connectionFailed, .disconnected, .requestInProgress, .busy, .timedOut, .bluetoothLost, .peripheralNotFound,
        .scanFailed, .disconnectionFailed, .serviceDiscoveryFailed, .pairingRejected, .pairingTimedOut, unreplied,
    ]

    /// The code of BLEFeatures for a request without a reply.
    private static var unreplied: Code { Code(rawValue: "commandTimedOut") }

    /// Returns the error with its location added. Does not change parts of the location that are already set. For
    /// profiles that decode values themselves.
    public func at(
        _ peripheral: Peripheral.ID, service: BluetoothUUID? = nil, characteristic: BluetoothUUID? = nil
    ) -> BLEError {
        var error = self
        error.peripheral = error.peripheral ?? peripheral
        error.service = error.service ?? service
        error.characteristic = error.characteristic ?? characteristic
        return error
    }

    /// The error for a peripheral that a search has not found.
    static func notHeard(within limit: Duration, cause: BLEError) -> BLEError {
        BLEError(
            .peripheralNotFound, "the peripheral was not found within \(limit)",
            remedy: "It may be out of range, switched off, or connected to another device.", cause: cause)
    }

    /// Returns the error of a wait that has ended at its deadline, or was cancelled, with the obstacle as its cause.
    /// Other errors are returned unchanged.
    func waiting(for obstacle: BLEError?) -> BLEError {
        guard let obstacle, cause == nil, [.timedOut, .cancelled].contains(code) else { return self }
        var error = self
        error.cause = obstacle
        guard code == .timedOut else { return error }
        error.message += ": \(obstacle.message)"
        error.remedy = obstacle.remedy
        return error
    }

    package static let cancelled = BLEError(.cancelled, "the task was cancelled")
    package static let shutDown = BLEError(.shutDown, "the central was shut down")
}

extension BLEError: CustomStringConvertible {
    /// The message, the location, the response of the peripheral or the stack, and the remedy, on one line.
    public var description: String {
        var text = "\(code): \(message)"
        let place = [
            peripheral.map { "peripheral \($0)" }, service.map { "service \($0)" },
            characteristic.map { "characteristic \($0)" },
        ].compactMap { $0 }
        if !place.isEmpty { text += " (\(place.joined(separator: ", ")))" }
        let answer = [attError?.description, stackErrorName].compactMap { $0 }.filter { !message.contains(text: $0) }
        if !answer.isEmpty { text += " [\(answer.joined(separator: ", "))]" }
        if let remedy { text += " — \(remedy)" }
        return text
    }
}
