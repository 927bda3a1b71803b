import BLE

#if Web
    import ArgumentParser
    import BLE
    import BLERecording

    /// The options of commands that serve the page.
    struct WebOptions: ParsableArguments {
        @Flag(help: "Let the page write, pair and subscribe, with the token in the address that is printed.")
        var allowWrite = false

        /// What a page needs to change something.
        var token: String? { allowWrite ? WebServer.makeToken() : nil }

        static func address(_ text: String) throws -> WebAddress {
            guard let address = WebAddress(text) else {
                throw ValidationError("“\(text.excerpt)” is not HOST:PORT, where HOST is a number or localhost.")
            }
            return address
        }
    }

    struct WebCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "web", abstract: "Serve a page with the peripherals in range, until it is stopped.",
            discussion: """
                The page is for browsers on this machine, unless --http has another address: everybody who can reach \
                that sees what is in range, and reads values. With --allow-write, those who have the printed address \
                can change things, too. --backend simulated shows it without hardware.
                """)

        @OptionGroup var options: CommonOptions
        @OptionGroup var web: WebOptions

        @Option(
            help: ArgumentHelp("Where the page is served.", valueName: "host:port"), transform: WebOptions.address)
        var http = WebAddress.standard

        func run() async throws {
            let (options, token) = (options, web.token)
            let output = Output(json: options.json)
            let holder = CentralHolder()
            let server = WebServer(
                http,
                WebServer.Subject(
                    title: "ble web", backend: options.backend, timeout: options.timeout, recording: options.record,
                    central: { holder.central }),
                token: token
            ) { output.note($0) }
            try await Session.finish(output) {
                let recorder = try options.makeRecorder()
                let result: Result<Void, any Error>
                do {
                    try await withThrowingTaskGroup { group in
                        group.addTask { try await server.run(CommandClock.current) }
                        group.addTask {
                            holder.central = try await options.makeCentral(
                                pairing: WebPairing.behavior(), waits: true, recorder: recorder)
                            // The server goes on.
                            while true { try await CommandClock.sleep(for: .seconds(86_400)) }
                        }
                        defer { group.cancelAll() }
                        try await group.next()
                    }
                    result = .success(())
                } catch {
                    result = .failure(error)
                }
                await Task { await holder.central?.shutDown() }.value
                try await Task { try await recorder?.close() }.value
                try result.get()
            }
        }
    }
#endif
