/// An error from a Bluetooth operation, with its location and a suggested remedy.
///
/// Match on ``code``. All other properties are details and may be absent.
public struct BLEError: Error, Sendable {
    /// The kind of error. Later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
        /// A stable name, identical to the constant's name.
        public let rawValue: String
        /// Whether a call that fails with this code may usually succeed if it is repeated a little later.
        public let isRetryable: Bool
        /// Whether a peripheral may have performed an operation that fails with this code. False if nothing was sent,
        /// or if the peripheral rejected it.
        public let mayHaveReachedPeripheral: Bool

        /// Declares a code. For the codes of other modules, as static constants.
        public init(_ name: String, isRetryable: Bool = false, mayHaveReachedPeripheral: Bool = false) {
            rawValue = name
            self.isRetryable = isRetryable
            self.mayHaveReachedPeripheral = mayHaveReachedPeripheral
        }

        /// Creates a code from its name, to compare it with others. Nothing else is known of it: a peripheral may have
        /// been reached.
        public init(rawValue: String) { self.init(rawValue, mayHaveReachedPeripheral: true) }

        /// The name.
        public var description: String { rawValue }

        /// Codes with the same name are equal.
        public static func == (one: Code, other: Code) -> Bool { one.rawValue == other.rawValue }
        /// Hashes the name.
        public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

        /// No Bluetooth service is available: with BlueZ, no bus or no bluetoothd.
        public static let bluetoothUnavailable = Code("bluetoothUnavailable")
        /// There is no adapter, or no adapter with the requested id.
        public static let adapterNotFound = Code("adapterNotFound")
        /// The adapter is powered off.
        public static let poweredOff = Code("poweredOff")
        /// A radio kill switch (rfkill) blocks the adapter.
        public static let blocked = Code("blocked")
        /// The scan could not be started.
        public static let scanFailed = Code("scanFailed", isRetryable: true)
        /// This user or program lacks a permission; see ``BLEError/remedy``.
        public static let unauthorized = Code("unauthorized")
        /// The peripheral is not known to the system, or no longer known, and was not found by a search in time.
        public static let peripheralNotFound = Code("peripheralNotFound", isRetryable: true)
        /// A name prefix matches several peripherals.
        public static let ambiguousPeripheral = Code("ambiguousPeripheral")
        /// The link could not be established.
        public static let connectionFailed = Code("connectionFailed", isRetryable: true)
        /// A disconnect ended the attempt to connect, or a session was closed.
        public static let connectionCancelled = Code("connectionCancelled")
        /// The link could not be ended.
        public static let disconnectionFailed = Code("disconnectionFailed", isRetryable: true)
        /// The services of a connected peripheral could not be discovered.
        public static let serviceDiscoveryFailed = Code("serviceDiscoveryFailed", isRetryable: true)
        /// There is no link, or it ended during the operation.
        public static let disconnected = Code("disconnected", isRetryable: true, mayHaveReachedPeripheral: true)
        /// The peripheral has no such service; see ``BLEError/missingUUIDs``.
        public static let serviceNotFound = Code("serviceNotFound")
        /// The peripheral has no such characteristic or descriptor; see ``BLEError/missingUUIDs``.
        public static let characteristicNotFound = Code("characteristicNotFound")
        /// The attribute, the device or the Bluetooth stack does not offer this operation.
        public static let notSupported = Code("notSupported")
        /// The system or the peripheral refuses the operation.
        public static let notPermitted = Code("notPermitted")
        /// The attribute requires an encrypted or authenticated link. Pairing may help.
        public static let pairingRequired = Code("pairingRequired")
        /// The peripheral responded with another ATT error; see ``BLEError/attError``.
        public static let attributeError = Code("attributeError")
        /// The peripheral refused an L2CAP channel: nothing accepts channels at the number, or not this one.
        public static let channelRefused = Code("channelRefused")
        /// The offset is past the value's end.
        public static let invalidOffset = Code("invalidOffset")
        /// The attribute does not accept a value of this length.
        public static let invalidLength = Code("invalidLength")
        /// The value does not conform to its type: it is too short, too long, or out of range.
        public static let invalidValue = Code("invalidValue", mayHaveReachedPeripheral: true)
        /// An argument is invalid, such as an id that is not an address.
        public static let invalidArgument = Code("invalidArgument")
        /// Another request on this control point is waiting for its answer.
        public static let requestInProgress = Code("requestInProgress", isRetryable: true)
        /// The peripheral accepted a request on a control point, but reported that it failed; see
        /// ``BLEError/result(_:)``.
        public static let procedureFailed = Code("procedureFailed")
        /// Another operation or another program uses the resource.
        public static let busy = Code("busy", isRetryable: true)
        /// The deadline passed.
        public static let timedOut = Code("timedOut", isRetryable: true, mayHaveReachedPeripheral: true)
        /// The task was cancelled.
        public static let cancelled = Code("cancelled", mayHaveReachedPeripheral: true)
        /// The Bluetooth service, or the connection to it, stopped during the operation.
        public static let bluetoothLost = Code("bluetoothLost", isRetryable: true, mayHaveReachedPeripheral: true)
        /// The reader was slower than the stream's overflow policy allows.
        public static let overflow = Code("overflow", mayHaveReachedPeripheral: true)
        /// The central was shut down.
        public static let shutDown = Code("shutDown", mayHaveReachedPeripheral: true)
        /// Anything else.
        public static let failed = Code("failed", mayHaveReachedPeripheral: true)
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
        self.isRetryable = isRetryable ?? code.isRetryable
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
    public var mayHaveReachedPeripheral: Bool { attError == nil && code.mayHaveReachedPeripheral }

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
