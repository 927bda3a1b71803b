internal import BLE
internal import DBus
internal import Loop

/// The operation that bluetoothd answered with an error. The same answer has different meanings for different calls.
enum BlueZOperation {
    case start
    case discovery
    case connection
    case disconnection
    /// Reading, writing and `StartNotify`: the peripheral answers, and bluetoothd repeats its answer.
    case request
    /// Operations that bluetoothd answers itself: sockets, properties, and writing attributes that it may refuse to
    /// write.
    case attribute
    /// An adapter's power or name.
    case adapter
    case pairing
    /// Trusting, blocking and forgetting a device.
    case setting
    /// Registering services and advertisements.
    case serving
}

extension BLEError {
    /// Creates the error for an answer of bluetoothd, or for the lack of one.
    init(_ error: DBusError, during operation: BlueZOperation) {
        switch error.kind {
        case .timedOut:
            self.init(.timedOut, error.message, cause: error)
        case .cancelled:
            self = .cancelled
        case .unreachable:
            self.init(
                .bluetoothUnavailable, "the system's message bus cannot be reached: \(error.message)",
                remedy: "Start D-Bus; in a container, mount /run/dbus into it.", cause: error)
        case .exhausted:
            self.init(
                .bluetoothUnavailable, error.message, isRetryable: true,
                remedy: "Close some, or raise the limit (ulimit -n).", cause: error)
        case .disconnected:
            self = operation == .start ? Self.noBus(error) : .lost("the connection to the message bus was lost", error)
        case .malformed:
            self.init(.failed, "bluetoothd sent an unexpected answer: \(error.message)", cause: error)
        case .remote:
            self = Self.remote(error, operation)
        }
        stackErrorName = error.name.isEmpty ? nil : error.name
    }

    /// Returns the error for a socket that has ended, or for a wait on it that was cancelled.
    static func ended(_ message: String, _ error: LoopError) -> BLEError {
        error == .cancelled ? .cancelled : BLEError(.disconnected, message, cause: error)
    }

    private static func noBus(_ error: DBusError) -> BLEError {
        BLEError(
            .bluetoothUnavailable, "the message bus cannot be reached: \(error.message)",
            remedy: "Start D-Bus, or give another address; in a container, mount /run/dbus into it.", cause: error)
    }

    /// Returns the error for an operation during which Bluetooth stopped.
    static func lost(_ message: String, _ cause: DBusError? = nil) -> BLEError {
        BLEError(.bluetoothLost, message, remedy: "Try again once bluetoothd is running.", cause: cause)
    }

    static func notRunning(_ cause: DBusError? = nil) -> BLEError {
        BLEError(
            .bluetoothUnavailable, "bluetoothd is not running",
            remedy: "Start it: systemctl start bluetooth. It is in the package bluez.", cause: cause)
    }

    private static func remote(_ error: DBusError, _ operation: BlueZOperation) -> BLEError {
        let text = error.message
        if operation == .pairing, let error = pairing(error) { return error }
        if let answer = answer(error, operation) { return BLEError(answer, because: error) }
        switch error.name {
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            if operation != .start { return .lost("bluetoothd is not running", error) }
            return .notRunning(error)
        case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected":
            return .lost("bluetoothd has stopped before it answered", error)
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed":
            return BLEError(
                .unauthorized, "the bus does not let this user talk to bluetoothd",
                remedy: "Add the user to the group bluetooth and log in again, or allow it in a policy file in "
                    + "/etc/dbus-1/system.d; see Docs/Permissions.md.", cause: error)
        case "org.freedesktop.DBus.Error.LimitsExceeded":
            return BLEError(
                .failed, "the bus refuses, because this user or program exceeds its limits: \(text)",
                isRetryable: true,
                remedy: "Run fewer operations at the same time, or raise the bus's limits: <limit> in dbus-daemon(1).",
                cause: error)
        case "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod",
            "org.freedesktop.DBus.Error.UnknownInterface", "org.bluez.Error.DoesNotExist",
            "org.bluez.Error.NoSuchAdapter":
            if operation == .start, error.name != "org.bluez.Error.NoSuchAdapter" {
                return BLEError(
                    .bluetoothUnavailable, "bluetoothd does not offer its objects: \(text)",
                    remedy: "Restart it: systemctl restart bluetooth.", cause: error)
            }
            if [.adapter, .discovery, .serving].contains(operation) || error.name == "org.bluez.Error.NoSuchAdapter" {
                return BLEError(
                    .adapterNotFound, "bluetoothd no longer has the adapter", remedy: "Plug it in.", cause: error)
            }
            return BLEError(.peripheralNotFound, "bluetoothd no longer knows the object: \(text)", cause: error)
        case "org.bluez.Error.NotReady":
            return .poweredOff(remedy: "Switch it on. If that is refused: rfkill unblock bluetooth.", cause: error)
        case "org.bluez.Error.Blocked":
            return blocked(isHard: false, error)
        case "org.bluez.Error.NotConnected":
            return BLEError(.disconnected, "there is no link", cause: error)
        case "org.bluez.Error.InProgress", "org.bluez.Error.Busy":
            return BLEError(.busy, "bluetoothd is busy with the same operation for another client", cause: error)
        case "org.bluez.Error.NotAvailable", "org.bluez.Error.BREDR.ProfileUnavailable":
            return BLEError(
                .notSupported, "the device has no profile that bluetoothd can connect: \(text)", cause: error)
        case "org.bluez.Error.NotPermitted" where text.hasSuffix("acquired"):
            return BLEError(
                .busy, "a socket for the characteristic is open, in this or another program: \(text)",
                remedy: "Close the writer or the stream that uses it.", cause: error)
        case "org.bluez.Error.Canceled":
            return BLEError(.cancelled, "the operation was cancelled elsewhere", cause: error)
        case "org.bluez.Error.Rejected":
            return BLEError(.notPermitted, "the operation was rejected: \(text)", cause: error)
        case "org.bluez.Error.ConnectionAttemptFailed":
            return BLEError(.connectionFailed, "the link could not be established: \(text)", cause: error)
        case "org.bluez.Error.NotSupported", "org.bluez.Error.Unsupported":
            return BLEError(.notSupported, "the operation is not supported", cause: error)
        case "org.bluez.Error.NotAuthorized" where operation == .attribute:
            return BLEError(
                .notPermitted,
                "bluetoothd does not permit writing an attribute that one of its plug-ins uses, or the peripheral "
                    + "rejected it", isRetryable: false,
                remedy: "Set ExportClaimedServices = read-write in bluetoothd's main.conf.", cause: error)
        case "org.bluez.Error.NotPermitted", "org.bluez.Error.NotAuthorized":
            // ATT's security errors arrive as "Not paired" and the like.
            if text.contains(text: "paired") || text.contains(text: "authenti") || text.contains(text: "ncrypt") {
                return BLEError(
                    .pairingRequired, "the attribute requires a paired link: \(text)",
                    remedy: "Pair with the peripheral.",
                    cause: error)
            }
            return BLEError(
                .notPermitted, "the operation is not permitted: \(text)", isRetryable: false, cause: error)
        case "org.bluez.Error.InvalidValueLength", "org.bluez.Error.InvalidLength":
            return BLEError(.invalidLength, "bluetoothd does not accept data of this length: \(text)", cause: error)
        case "org.bluez.Error.InvalidArguments", "org.bluez.Error.InvalidArgs",
            "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.InvalidSignature":
            return BLEError(.invalidArgument, "bluetoothd does not accept these arguments: \(text)", cause: error)
        case "org.bluez.Error.InvalidOffset":
            return BLEError(.invalidOffset, "bluetoothd does not accept the offset: \(text)", cause: error)
        case "org.bluez.Error.AuthenticationCanceled", "org.bluez.Error.AuthenticationFailed",
            "org.bluez.Error.AuthenticationRejected", "org.bluez.Error.AuthenticationTimeout":
            return BLEError(
                .pairingRequired, "pairing failed: \(text)", remedy: "Pair with the peripheral.", cause: error)
        default:
            return other(error, operation)
        }
    }

    /// Returns the error for an answer to `Pair` (`new_authentication_return` in BlueZ's `src/device.c`).
    private static func pairing(_ error: DBusError) -> BLEError? {
        var mapped: BLEError
        switch error.name {
        case "org.bluez.Error.AlreadyExists": mapped = .alreadyPaired
        case "org.bluez.Error.AuthenticationFailed":
            mapped = .pairingFailed("wrong number, refused, or insufficient IO capability")
        case "org.bluez.Error.AuthenticationRejected":
            mapped = BLEError(.pairingRejected, "the peripheral does not accept pairing now", isRetryable: true)
        case "org.bluez.Error.AuthenticationCanceled": mapped = BLEError(.pairingCancelled, "the pairing was cancelled")
        case "org.bluez.Error.AuthenticationTimeout":
            mapped = BLEError(.pairingTimedOut, "the peripheral did not continue the pairing", isRetryable: true)
        case "org.bluez.Error.ConnectionAttemptFailed":
            mapped = BLEError(.connectionFailed, "the link could not be established: \(error.message)")
        case "org.bluez.Error.Failed": mapped = .pairingFailed(error.message)
        default: return nil
        }
        mapped.cause = error
        return mapped
    }

    /// Returns the error for `Failed` and similar answers, according to their text.
    private static func other(_ error: DBusError, _ operation: BlueZOperation) -> BLEError {
        let text = error.message
        switch operation {
        case .connection: return connection(error)
        case .disconnection:
            return BLEError(.disconnectionFailed, "the link could not be ended: \(text)", cause: error)
        case .request, .attribute:
            if text == "Not connected" { return BLEError(.disconnected, "there is no link", cause: error) }
            // "Operation failed with ATT error" without a code, and the end of the link during an operation.
            return BLEError(.failed, "bluetoothd failed: \(text)", cause: error)
        case .discovery: return BLEError(.scanFailed, "the scan could not be started: \(text)", cause: error)
        case .start, .adapter, .pairing, .setting, .serving:
            return BLEError(.failed, "bluetoothd failed: \(text)", cause: error)
        }
    }

    /// Creates the error for a peripheral's ATT error that bluetoothd has reported.
    private init(_ answer: ATTError, because error: DBusError) {
        self.init(answer)
        cause = error
    }

    /// Returns the error for an adapter that a radio kill switch blocks.
    static func blocked(isHard: Bool, _ cause: DBusError?) -> BLEError {
        var error = BLEError(
            .blocked, "a radio kill switch blocks the adapter",
            remedy: isHard
                ? "Use the machine's own switch or key for its radio, or its firmware's setting."
                : "Unblock it: rfkill unblock bluetooth.", cause: cause)
        error.stackErrorName = cause?.name
        return error
    }

    /// Returns the peripheral's answer that bluetoothd repeats (`create_gatt_dbus_error` in its `src/gatt-client.c`).
    /// Nil if the error is bluetoothd's own, or one of the three that bluetoothd reports as "Not paired".
    private static func answer(_ error: DBusError, _ operation: BlueZOperation) -> ATTError? {
        let text = error.message
        guard operation == .request || operation == .attribute else { return nil }
        // Only a peripheral's answer has a number.
        if error.name == "org.bluez.Error.Failed" { return attCode(in: text) }
        guard operation == .request else { return nil }
        switch error.name {
        case "org.bluez.Error.NotPermitted" where text == "Read not permitted": return .readNotPermitted
        case "org.bluez.Error.NotPermitted" where text == "Write not permitted": return .writeNotPermitted
        case "org.bluez.Error.NotAuthorized": return .insufficientAuthorization
        case "org.bluez.Error.NotSupported": return .requestNotSupported
        case "org.bluez.Error.InvalidArguments" where text.contains(text: "offset"), "org.bluez.Error.InvalidOffset":
            return .invalidOffset
        case "org.bluez.Error.InvalidArguments" where text.contains(text: "ength"),
            "org.bluez.Error.InvalidValueLength", "org.bluez.Error.InvalidLength":
            return .invalidAttributeValueLength
        case "org.bluez.Error.ImproperlyConfigured": return .improperlyConfigured
        default: return nil
        }
    }

    /// Returns the code in "Operation failed with ATT error: 0x0e".
    private static func attCode(in text: String) -> ATTError? {
        guard text.contains(text: "ATT error"), let digits = text.split(separator: "x").last?.prefix(2) else {
            return nil
        }
        return UInt8(digits, radix: 16).flatMap { $0 == 0 ? nil : ATTError(rawValue: $0) }
    }
}
