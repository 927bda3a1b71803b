import BLE
import BLEDefinitions

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
        @OptionGroup var web: WebOptions

        @Option(help: ArgumentHelp("The configuration.", valueName: "file"))
        var config: String

        @Option(
            help: ArgumentHelp(
                "Also serve a page there, and numbers for Prometheus; see ble help web.", valueName: "host:port"),
            transform: WebOptions.address)
        var http: WebAddress?

        @Flag(help: "Only read the configuration, and the files that it names, and say what is in it.")
        var check = false

        func validate() throws {
            guard !web.allowWrite || http != nil else { throw ValidationError("--allow-write requires --http.") }
        }

        func run() async throws {
            let configuration = try read()
            guard !check else { return try await show(configuration) }
            let output = Output(json: options.json)
            let broker = try MQTTBroker(configuration, logger: CommonOptions.logger(verbose: options.verbose)) {
                output.note($0)
            }
            let process = ProcessInfo.processInfo
            let service = ServiceManager(process.environment, process: process.processIdentifier)
            let history = configuration.history.map { History($0) { output.note($0) } }
            let gateway = Gateway(
                configuration, broker: broker, clock: CommandClock.current, service: service,
                record: { history?.take($0) }
            ) {
                output.note($0)
            }
            let (options, token) = (options, web.token)
            let server = http.map { makeServer($0, gateway, history, token, output) }
            try await Session.finish(output) {
                let recorder = try options.makeRecorder()
                let recording = Task { await history?.run(CommandClock.current) }
                let page = Task { try await server?.run(CommandClock.current) }
                defer { page.cancel() }
                let pairing: PairingBehavior =
                    server == nil ? .justWorks : WebPairing.behavior(mayPair: configuration.linkedPeripherals)
                let notes = OutageNotes(output)
                let result: Result<Void, any Error>
                do {
                    result = .success(
                        try await gateway.run {
                            let central = try await options.makeCentral(
                                pairing: pairing, waits: true, recorder: recorder, onWait: notes.waits)
                            notes.isOver()
                            return central
                        })
                } catch {
                    result = .failure(error)
                }
                recording.cancel()
                await recording.value
                try await Task { try await recorder?.close() }.value
                try result.get()
            }
        }

        private func makeServer(
            _ address: WebAddress, _ gateway: Gateway, _ history: History?, _ token: String?, _ output: Output
        ) -> WebServer {
            var subject = WebServer.Subject(
                title: gateway.configuration.id, backend: options.backend, timeout: options.timeout,
                recording: options.record, central: { gateway.central })
            subject.devices = { gateway.devices }
            subject.metrics = { gateway.metrics }
            if let history {
                subject.history = { device, field, hours throws(BLEError) in
                    try await history.points(device: device, field: field, hours: hours).json
                }
            }
            return WebServer(address, subject, token: token) { output.note($0) }
        }

        /// Says what is in the configuration, and checks what it refers to.
        private func show(_ configuration: GatewayConfiguration) async throws {
            if let file = configuration.broker.tls?.certificateAuthorities,
                let mistake = CertificateFile.mistake(in: file)
            {
                throw ValidationError("\(config): broker.tls.ca: \(mistake)")
            }
            if let file = configuration.history?.file, let mistake = try await HistoryFile.mistake(in: file) {
                throw ValidationError("\(config): history.file: \(mistake)")
            }
            #if DeviceCommands
                for device in configuration.devices {
                    if let mistake = await device.messages?.mistakeInKeys() {
                        throw ValidationError("\(config): devices.\(device.key.excerpt).messages.keys: \(mistake)")
                    }
                }
            #endif
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
            } catch let mistake as DefinitionError {
                throw ValidationError("\(config): \(mistake)")
            }
        }
    }
#endif
