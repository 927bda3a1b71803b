package import BLE

extension BLEError {
    /// The error of a connection to a proxy that could not be made, or has ended.
    ///
    /// - Parameters:
    ///   - wasReady: whether the connection was in use.
    ///   - name: the name of the proxy.
    package init(_ failure: ProxySession.Failure, wasReady: Bool, proxy name: String) {
        let code = wasReady ? Code.bluetoothLost : .bluetoothUnavailable
        switch failure {
        case .wire(.wrongKey):
            self.init(
                .unauthorized, "the proxy \(name) has another key", isRetryable: false, remedy: Self.keyRemedy)
        case .wire(.isEncrypted):
            self.init(
                .unauthorized, "the proxy \(name) requires encryption", isRetryable: false, remedy: Self.keyRemedy)
        case .wire(.isNotEncrypted):
            self.init(
                .unauthorized, "the proxy \(name) does not encrypt", isRetryable: false,
                remedy: "Set a key in the proxy's configuration, or connect without one.")
        case .incompatible(let version):
            self.init(
                .notSupported, "the proxy \(name) has version \(version.major).\(version.minor) of the API",
                isRetryable: false)
        case .notAProxy:
            self.init(
                .notSupported, "the device \(name) is not a Bluetooth proxy", isRetryable: false,
                remedy: "Add bluetooth_proxy to its configuration.")
        case .wire(let error):
            self.init(
                code, "the proxy \(name): \(error.text(of: "it"))",
                remedy: wasReady
                    ? Self.lossRemedy : "Check its address and port: 6053 is that of ESPHome's native API.")
        case .closed:
            self.init(
                code, "the proxy \(name) closed the connection",
                remedy: wasReady
                    ? Self.lossRemedy
                    : "Check that it is a proxy, that it encrypts if you have a key, and that few clients use it.")
        case .late:
            self.init(
                .bluetoothUnavailable, "the proxy \(name) did not complete the greeting within 60 s",
                remedy: Self.lossRemedy)
        case .restarted:
            self.init(
                .bluetoothLost, "the connection to the proxy \(name) is made again, because it reported nothing",
                remedy: Self.lossRemedy)
        case .silent:
            self.init(.bluetoothLost, "the proxy \(name) was silent for 90 s", remedy: Self.lossRemedy)
        }
    }

    private static let lossRemedy = "Check that it is switched on, and the network between it and this machine."
    private static let keyRemedy =
        "Use the proxy's key: that of its configuration (api, encryption, key), or of its key file."

    /// The error of an attribute, as a proxy reports it.
    package init(attributeError number: Int32) {
        switch number {
        case -1: self.init(.disconnected, "there is no link to the peripheral", disconnectReason: .unknown)
        case 1...0xFF: self.init(ATTError(rawValue: UInt8(number)))
        default: self.init(.failed, "the proxy reports the error \(number)")
        }
    }

    /// The error of a link that has ended, as a proxy reports it.
    package init(linkEnd number: Int32) {
        let (message, reason): (String, DisconnectReason) =
            switch number {
            case 0x08, 0x22: ("the link was lost", .timeout)
            case 0x13: ("the peripheral ended the link", .remote)
            case 0x16: ("the link was ended by a call to disconnect", .local)
            case 0x05, 0x06, 0x3D: ("the keys of the two sides do not match", .authentication)
            default: ("the link ended", .unknown)
            }
        self.init(.disconnected, message, disconnectReason: reason)
    }

    /// The error of a link that could not be made, as a proxy reports it.
    package init(failedLink number: Int32, slots: ProxySlots?) {
        switch number {
        case 0 where slots?.free == 0:
            self.init(
                .busy, "all \(slots?.limit ?? 0) connections of the proxy are in use",
                remedy: "Disconnect another peripheral.")
        case 0x3E: self.init(.connectionFailed, "the peripheral did not answer", disconnectReason: .timeout)
        default: self.init(.connectionFailed, "the proxy could not connect (\(number))")
        }
    }
}
