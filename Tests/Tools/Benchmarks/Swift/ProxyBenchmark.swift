#if DeviceCommands
    internal import BLE
    internal import BLEBlueZ
    internal import BLEESPHome
    internal import BLEProxy
    internal import Glibc

    /// Uses the proxy of ESPHome that `FAKE` names, by its port and its key, or is one.
    enum ProxyBenchmark {
        /// What is received.
        enum Kind: String {
            case values
            case advertisements
        }

        /// Receives with code as users write it, up to the marker.
        ///
        /// - Parameter devices: the number of devices that advertise.
        @concurrent
        static func run(_ place: Benchmarks.Place, _ kind: Kind, devices: Int) async throws {
            let words = getenv("FAKE").map { String(cString: $0).split(separator: " ") } ?? []
            guard words.count == 2, let port = UInt16(words[0]), let key = try? EncryptionKey(String(words[1])) else {
                throw BLEError(.invalidArgument, "FAKE is not a port and a key")
            }
            let backend = ESPHomeCentral.esphome("127.0.0.1", port: port, key: key)
            let body: @concurrent @Sendable (Central) async throws -> Void = { central in
                switch kind {
                case .values:
                    for try await discovery in central.discoveries() {
                        guard discovery.peripheral.id == Benchmarks.peripheral else { continue }
                        break
                    }
                    try await NotificationBenchmark.receive(central)
                case .advertisements: try await ScanBenchmark.receiveAll(central, devices: devices)
                }
            }
            guard place == .stream else { return try await BLE.withCentral(backend: backend, body) }
            let central = try await Central(backend: backend)
            try await body(central)
            await central.shutDown()
        }

        /// Offers bluetoothd's radio as a proxy, until the process is ended.
        @concurrent
        static func serve() async throws {
            let key = EncryptionKey.random()
            try await withCentral { central in
                let server = ProxyServer(
                    central, .init(name: "benchmark", address: "02:11:22:33:44:55", key: key))
                try await server.run(port: 0) { port in
                    print(port, key.text)
                    fflush(nil)
                }
            }
        }
    }
#endif
