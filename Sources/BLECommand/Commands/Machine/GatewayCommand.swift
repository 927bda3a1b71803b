#if Gateway
    import ArgumentParser
    import BLE
    import BLERecording
    import FoundationEssentials

    struct GatewayCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "gateway", abstract: "Publish listed devices on an MQTT broker, until it is stopped.",
            discussion: """
                The file lists the broker and the devices; see Docs/Gateway.md. The gateway starts before bluetoothd, \
                the adapter and the broker, and outlasts the loss of each. BLE_MQTT_PASSWORD has the broker's \
                password if the file has none.
                """)

        @OptionGroup var options: CommonOptions

        @Option(help: ArgumentHelp("The configuration.", valueName: "file"))
        var config: String

        @Flag(help: "Only read the configuration and the file of broker.tls.ca, and say what is in it.")
        var check = false

        func run() async throws {
            let configuration = try read()
            guard !check else { return try show(configuration) }
            let output = Output(json: options.json)
            let broker = try MQTTBroker(configuration, logger: CommonOptions.logger(verbose: options.verbose)) {
                output.note($0)
            }
            let process = ProcessInfo.processInfo
            let service = ServiceManager(process.environment, process: process.processIdentifier)
            let gateway = Gateway(configuration, broker: broker, clock: CommandClock.current, service: service) {
                output.note($0)
            }
            let options = options
            try await Session.finish(output) {
                let recorder = try options.makeRecorder()
                let result: Result<Void, any Error>
                do {
                    result = .success(
                        try await gateway.run { try await options.makeCentral(waits: true, recorder: recorder) })
                } catch {
                    result = .failure(error)
                }
                try await Task { try await recorder?.close() }.value
                try result.get()
            }
        }

        /// Says what is in the configuration, and checks what it refers to.
        private func show(_ configuration: GatewayConfiguration) throws {
            if let file = configuration.broker.tls?.certificateAuthorities,
                let mistake = CertificateFile.mistake(in: file)
            {
                throw ValidationError("\(config): broker.tls.ca: \(mistake)")
            }
            let devices = configuration.devices.count
            print("\(config): \(devices) device\(devices == 1 ? "" : "s")")
        }

        private func read() throws -> GatewayConfiguration {
            guard let json = try? Data(contentsOf: URL(filePath: config)) else {
                throw ValidationError("\(config) is not a readable file.")
            }
            do {
                var configuration = try GatewayFile.configuration(json: json)
                if configuration.broker.user != nil, configuration.broker.password == nil {
                    configuration.broker.password = ProcessInfo.processInfo.environment["BLE_MQTT_PASSWORD"]
                }
                return configuration
            } catch let mistake as Entry.Mistake {
                throw ValidationError("\(config): \(mistake)")
            }
        }
    }
#endif
