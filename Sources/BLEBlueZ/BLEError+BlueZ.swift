internal import BLE
internal import DBus

/// What was being done when bluetoothd answered with an error; the same answer means different things to different calls.
enum BlueZOperation {
    case start
    case discovery
    case connection
    case attribute
}

extension BLEError {
    /// The error that an answer of bluetoothd, or the lack of one, amounts to.
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
        case .disconnected:
            self = operation == .start ? Self.noBus(error) : .lost("the connection to the message bus was lost", error)
        case .malformed:
            self.init(.failed, "bluetoothd answered something unexpected: \(error.message)", cause: error)
        case .remote:
            self = Self.remote(error, operation)
        }
        busErrorName = error.name.isEmpty ? nil : error.name
    }

    private static func noBus(_ error: DBusError) -> BLEError {
        BLEError(
            .bluetoothUnavailable, "the message bus cannot be reached: \(error.message)",
            remedy: "Start D-Bus, or give another address; in a container, mount /run/dbus into it.", cause: error)
    }

    /// Bluetooth went away while something was under way.
    static func lost(_ message: String, _ cause: DBusError? = nil) -> BLEError {
        BLEError(.bluetoothLost, message, remedy: "Try again once bluetoothd is running.", cause: cause)
    }

    private static func remote(_ error: DBusError, _ operation: BlueZOperation) -> BLEError {
        let text = error.message
        switch error.name {
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner":
            if operation != .start { return .lost("bluetoothd is not running", error) }
            return BLEError(
                .bluetoothUnavailable, "bluetoothd is not running",
                remedy: "Start it: systemctl start bluetooth. It is in the package bluez.", cause: error)
        case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected":
            return .lost("bluetoothd went away before it answered", error)
        case "org.freedesktop.DBus.Error.AccessDenied":
            return BLEError(
                .unauthorized, "the bus does not let this user talk to bluetoothd",
                remedy: "Add the user to the group bluetooth and log in again, or allow it in a policy file in "
                    + "/etc/dbus-1/system.d; see Docs/Permissions.md.", cause: error)
        case "org.freedesktop.DBus.Error.UnknownObject", "org.bluez.Error.DoesNotExist",
            "org.freedesktop.DBus.Error.UnknownMethod":
            return BLEError(.peripheralNotFound, "bluetoothd no longer knows it: \(text)", cause: error)
        case "org.bluez.Error.NotReady":
            return BLEError(
                .poweredOff, "the adapter is switched off",
                remedy: "Switch it on: bluetoothctl power on. If that is refused: rfkill unblock bluetooth.",
                cause: error)
        case "org.bluez.Error.NotConnected":
            return BLEError(.disconnected, "there is no link", cause: error)
        case "org.bluez.Error.InProgress":
            return BLEError(.busy, "bluetoothd is busy with the same for another client", cause: error)
        case "org.bluez.Error.NotSupported":
            return BLEError(.notSupported, "the operation is not supported", cause: error)
        case "org.bluez.Error.NotPermitted", "org.bluez.Error.NotAuthorized":
            // ATT's security errors arrive as "Not paired".
            if text.contains("paired") || text.contains("authenti") || text.contains("ncrypt") {
                return BLEError(
                    .pairingRequired, "the attribute wants a paired link: \(text)", remedy: "Pair with the peripheral.",
                    cause: error)
            }
            return BLEError(
                .notPermitted, "the operation is not permitted: \(text)", attError: refusal(in: text),
                isRetryable: false,
                cause: error)
        case "org.bluez.Error.InvalidArguments" where text.contains("offset"):
            return BLEError(
                .invalidOffset, "the offset is past the value's end", attError: .invalidOffset, cause: error)
        case "org.bluez.Error.InvalidArguments" where text.contains("ength"), "org.bluez.Error.InvalidValueLength":
            return BLEError(
                .invalidLength, "the attribute does not take a value of this length",
                attError: .invalidAttributeValueLength, cause: error)
        case "org.bluez.Error.InvalidOffset":
            return BLEError(
                .invalidOffset, "the offset is past the value's end", attError: .invalidOffset, cause: error)
        case "org.bluez.Error.AuthenticationCanceled", "org.bluez.Error.AuthenticationFailed",
            "org.bluez.Error.AuthenticationRejected", "org.bluez.Error.AuthenticationTimeout":
            return BLEError(
                .pairingRequired, "pairing failed: \(text)", remedy: "Pair with the peripheral.", cause: error)
        default:
            return other(error, operation)
        }
    }

    /// `Failed` and the like, whose text says more.
    private static func other(_ error: DBusError, _ operation: BlueZOperation) -> BLEError {
        let text = error.message
        switch operation {
        case .connection:
            if text.contains("already in progress") {
                return BLEError(.busy, "another connect is under way", cause: error)
            }
            if text.contains("canceled") {
                return BLEError(.connectionCancelled, "a disconnect ended the attempt to connect", cause: error)
            }
            return BLEError(.connectionFailed, "the link could not be made: \(text)", cause: error)
        case .attribute:
            if text == "Not connected" { return BLEError(.disconnected, "there is no link", cause: error) }
            if let code = attCode(in: text) {
                return BLEError(
                    .attributeError, "the peripheral answered with \(code)", attError: code, isRetryable: false,
                    cause: error)
            }
            // "Operation failed with ATT error", and the end of the link in the middle of an operation.
            return BLEError(.failed, "bluetoothd failed: \(text)", cause: error)
        case .start, .discovery:
            return BLEError(.failed, "bluetoothd failed: \(text)", cause: error)
        }
    }

    /// The ATT code that BlueZ's wording stands for (`create_gatt_dbus_error` in its `src/gatt-client.c`).
    private static func refusal(in text: String) -> ATTError? {
        switch text {
        case "Read not permitted": .readNotPermitted
        case "Write not permitted": .writeNotPermitted
        default: nil
        }
    }

    /// The code in "Operation failed with ATT error: 0x0e".
    private static func attCode(in text: String) -> ATTError? {
        guard text.contains("ATT error"), let digits = text.split(separator: "x").last?.prefix(2) else { return nil }
        return UInt8(digits, radix: 16).flatMap { $0 == 0 ? nil : ATTError(rawValue: $0) }
    }
}
