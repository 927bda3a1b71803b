internal import DBus

/// What announcing and finding proxies share of Avahi's interface on the bus.
enum Avahi {
    static let service = "org.freedesktop.Avahi"
    /// The type of the services of devices that speak ESPHome's native API.
    static let serviceType = "_esphomelib._tcp"
    /// The encryption of a device with a key, as it announces it.
    static let encryption = "Noise_NNpsk0_25519_ChaChaPoly_SHA256"
    /// The number of any interface, and of any protocol.
    static let unspecified: Int32 = -1
    /// The maximum wait for an answer.
    static let timeout = Duration.seconds(10)

    static func call(
        _ path: String, _ interface: String, _ method: String, _ arguments: [DBusValue] = []
    ) -> MethodCall {
        MethodCall(service, path, "\(service).\(interface)", method, arguments)
    }
}
