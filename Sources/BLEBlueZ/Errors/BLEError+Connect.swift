internal import BLE
internal import DBus

extension BLEError {
    /// Returns the error for a `Failed` answer to `Connect`.
    ///
    /// Its text is one of the reasons in BlueZ's `src/error.h`, `le-connection-…` or `br-connection-…` (the latter also
    /// for LE devices), or the system's description of an error number.
    static func connection(_ error: DBusError) -> BLEError {
        let text = error.message
        switch reason(text) {
        case "canceled":
            return BLEError(.connectionCancelled, "a disconnect ended the attempt to connect", cause: error)
        case "busy", "already-connected", "Operation already in progress":
            return BLEError(.busy, "another connection attempt is in progress", cause: error)
        case "adapter-not-powered":
            return .poweredOff(cause: error)
        case "key-missing":
            return BLEError(
                .pairingRequired, "the peripheral has forgotten that it was paired",
                remedy: "Remove the pairing and pair again.", cause: error)
        case "not-supported", "profile-unavailable":
            return BLEError(.notSupported, "the device does not support this kind of connection: \(text)", cause: error)
        case "gatt-browsing", "sdp-search":
            return BLEError(.serviceDiscoveryFailed, "the services could not be discovered", cause: error)
        case "concurrent-connection-limit":
            return BLEError(
                .connectionFailed, "the controller has no connection left", remedy: "End another link.", cause: error)
        case "invalid-arguments", "invalid-argument":
            return BLEError(
                .connectionFailed, "the link could not be established: \(text)", isRetryable: false, cause: error)
        default:
            return BLEError(.connectionFailed, "the link could not be established: \(text)", cause: error)
        }
    }

    /// Returns the reason without the name of the transport.
    private static func reason(_ text: String) -> String {
        for prefix in ["le-connection-", "br-connection-"] where text.hasPrefix(prefix) {
            return String(text.dropFirst(prefix.count))
        }
        return text
    }
}
