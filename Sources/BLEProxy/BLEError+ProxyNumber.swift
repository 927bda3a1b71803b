internal import BLE

extension BLEError {
    /// The number of an error of an attribute.
    var proxyNumber: Int32 {
        if let attError { return Int32(attError.rawValue) }
        return switch code {
        case .disconnected, .shutDown, .bluetoothLost: -1
        case .pairingRequired: Int32(ATTError.insufficientAuthentication.rawValue)
        case .characteristicNotFound, .serviceNotFound: Int32(ATTError.invalidHandle.rawValue)
        case .notSupported: Int32(ATTError.requestNotSupported.rawValue)
        case .notPermitted: Int32(ATTError.writeNotPermitted.rawValue)
        case .invalidLength: Int32(ATTError.invalidAttributeValueLength.rawValue)
        default: 0x85
        }
    }

    /// The number of the reason of a link's end, or of a failed attempt to connect.
    var linkEndNumber: Int32 {
        switch disconnectReason {
        case .local: 0x16
        case .remote: 0x13
        case .timeout: 0x08
        case .authentication: 0x05
        default: code == .disconnected ? 0x13 : 0x100
        }
    }
}
