import BLE

#if DeviceCommands
    import ArgumentParser
    import BLEDefinitions
    import BLEESPHome
    import BLEProxy
    import FoundationEssentials

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    struct ProxyCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "proxy", abstract: "Be a Bluetooth proxy for Home Assistant or Matter until Ctrl-C.",
            discussion: """
                Clients that speak ESPHome's native API use this machine's radio over the network: they scan, connect, \
                read, write and subscribe. They need the key, which is made at the first start, and shown then on a \
                terminal. Two proxies of one machine need a --key-file or an --address each, since clients tell them \
                apart by the address.

                With --matter, a Matter server commissions devices through this machine's radio instead. The proxy \
                dials it, listens at no port and needs no key. With --esphome, it serves both. See Docs/Radios.md.
                """)

        @OptionGroup var options: CommonOptions

        @Option(
            help: ArgumentHelp(
                "The name in the network: lowercase letters, digits and hyphens. By default, that of this machine.",
                valueName: "text"))
        var name: String?

        @Option(
            help: ArgumentHelp(
                "The address to listen at. By default, 0.0.0.0: all of this machine, since clients need the key; and "
                    + "127.0.0.1 with --no-encryption.", valueName: "address"))
        var host: String?

        @Option(help: ArgumentHelp("The port, by default 6053; 0 for any that is free.", valueName: "number"))
        var port: UInt16?

        @Option(help: ArgumentHelp("The maximum number of clients, 1 to 64. By default, 16.", valueName: "number"))
        var clients: Int?

        @Option(
            help: ArgumentHelp("The maximum number of links, 1 to 64, of all clients together.", valueName: "number"))
        var links = 5

        @Option(
            help: ArgumentHelp(
                "The file with the key, which is made if it is missing. By default, ~/.local/state/ble/proxy.key.",
                valueName: "file"), completion: .file())
        var keyFile: String?

        @Flag(help: "Show the key at each start, also if the output is not a terminal.")
        var showKey = false

        @Option(
            help: ArgumentHelp(
                "The address by which clients know the proxy. By default, that of the first adapter at the first "
                    + "start, which is kept beside the key.", valueName: "address"))
        var address: String?

        @Flag(help: "Do not announce the proxy in the network through Avahi. With 127.0.0.1, it never is.")
        var noAnnounce = false

        @Flag(help: "Need no key: everybody who reaches the port may use the radio, and read what is sent.")
        var noEncryption = false

        @Option(
            help: ArgumentHelp(
                "The Matter server that commissions devices through this machine's radio, such as "
                    + "ws://homeassistant.local:5580/ble. It is one of matter.js, started with --ble-proxy.",
                valueName: "url"))
        var matter: String?

        @Flag(help: "Serve ESPHome's clients besides the Matter server.")
        var esphome = false

        func validate() throws {
            if let matter {
                do { _ = try MatterServerAddress(matter) } catch {
                    throw ValidationError("--matter: \(error.message). \(error.remedy ?? "")")
                }
            }
            guard !esphome || matter != nil else {
                throw ValidationError("--esphome is for a proxy with --matter. Without --matter, it is not needed.")
            }
            guard servesESPHome || !hasESPHomeOptions else {
                throw ValidationError("With --matter, options of ESPHome's clients need --esphome.")
            }
            guard (1...64).contains(clients ?? 16), (1...64).contains(links) else {
                throw ValidationError("--clients and --links are numbers from 1 to 64.")
            }
            guard !noEncryption || (keyFile == nil && !showKey) else {
                throw ValidationError("--key-file and --show-key are for a proxy with a key: remove --no-encryption.")
            }
            if let address, !ProxyKeyFile.isAddress(address) {
                throw ValidationError("--address is an address such as 00:1A:7D:DA:71:13.")
            }
            if let name, !Self.isName(name) {
                throw ValidationError("--name has 1 to 31 lowercase letters, digits and hyphens.")
            }
        }

        /// Whether clients are served, which need a port.
        private var servesESPHome: Bool { matter == nil || esphome }

        private var hasESPHomeOptions: Bool {
            name != nil || host != nil || port != nil || clients != nil || keyFile != nil || showKey || address != nil
                || noAnnounce || noEncryption
        }

        static func isName(_ text: String) -> Bool { text.wholeMatch(of: /[a-z0-9-]{1,31}/) != nil }

        /// The name of this machine, as far as a proxy may have it.
        private static var machineName: String {
            var bytes = [UInt8](repeating: 0, count: 256)
            _ = bytes.withUnsafeMutableBytes {
                gethostname($0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count - 1)
            }
            let host = String(decoding: bytes.prefix { $0 != 0 && $0 != UInt8(ascii: ".") }, as: UTF8.self).lowercased()
            let name = String(host.map { isName(String($0)) ? $0 : "-" }.prefix(31))
            return isName(name) ? name : "ble"
        }

        func run() async throws {
            let server = try matter.map { try MatterServerAddress($0) }
            guard servesESPHome else {
                let (links, options) = (links, options)
                return try await Session.run(options, outage: .isWaitedFor) { central, output in
                    try await Self.untilFirstEnd { group in
                        guard let server else { return }
                        await Self.addMatter(server, links, nil, central, options, output, to: &group)
                    }
                }
            }
            let output = Output(json: options.json)
            let (key, file): (EncryptionKey?, ProxyKeyFile?)
            do throws(BLEError) {
                (key, file) = try readKey(output)
            } catch {
                output.complain(error)
                throw ExitCode(ExitStatus.status(of: error.code))
            }
            let (name, host) = (name ?? Self.machineName, host ?? (key == nil ? "127.0.0.1" : "0.0.0.0"))
            let (clients, links, port, given, options) = (clients ?? 16, links, port ?? 6053, address, options)
            let isAnnounced = !noAnnounce && !host.hasPrefix("127.") && host != "::1"
            try await Session.run(options, outage: .isWaitedFor) { central, output in
                let address = try await Self.identity(given, file, options, central)
                let configuration = ProxyServer.Configuration(
                    name: name, address: address, key: key, connectionLimit: links, clientLimit: clients)
                let logger = CommonOptions.logger(verbose: options.verbose)
                let proxy = ProxyServer(central, configuration, logger: logger)
                let events = await proxy.events()
                let (ports, listening) = AsyncStream.makeStream(
                    of: UInt16.self, bufferingPolicy: .bufferingOldest(1))
                try await Self.untilFirstEnd { group in
                    group.addTask {
                        do {
                            try await proxy.run(host: host, port: port) { port in
                                // If the output is closed, the next event ends the command.
                                try? Self.showListening(host, port, name, address, isEncrypted: key != nil, output)
                                listening.yield(port)
                            }
                        } catch {
                            // Ends the events, too.
                            await proxy.close()
                            throw error
                        }
                    }
                    if isAnnounced {
                        let announcement = ProxyAnnouncement(configuration, bus: options.bus, logger: logger) {
                            output.note(Self.text($0))
                        }
                        group.addTask {
                            for await port in ports { await announcement.run(host: host, port: port) }
                        }
                    }
                    group.addTask { try await Self.showAll(events) { try Self.show($0, output) } }
                    if let server {
                        await Self.addMatter(server, links, proxy, central, options, output, to: &group)
                    }
                }
            }
        }

        /// Runs tasks until the first of them ends, or the task is cancelled. Throws the first error of any, since the
        /// events of what fails may end before it does.
        private static func untilFirstEnd(
            _ add: (inout ThrowingTaskGroup<Void, any Error>) async -> Void
        ) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                await add(&group)
                var failure: (any Error)?
                while let result = await group.nextResult() {
                    group.cancelAll()
                    guard case .failure(let error) = result, failure == nil else { continue }
                    let isCancellation = error is CancellationError || (error as? BLEError)?.isCancellation == true
                    if !isCancellation { failure = error }
                }
                // The end of a proxy is that of its task, and no success.
                try Task.checkCancellation()
                if let failure { throw failure }
            }
        }

        /// Adds what serves a Matter server.
        ///
        /// - Parameter clients: the server of other clients, with which the links are shared. Nil for none.
        private static func addMatter(
            _ server: MatterServerAddress, _ links: Int, _ clients: ProxyServer?, _ central: Central,
            _ options: CommonOptions, _ output: Output, to group: inout ThrowingTaskGroup<Void, any Error>
        ) async {
            let proxy = MatterProxy(
                central, server: server, connectionLimit: links, beside: clients,
                logger: CommonOptions.logger(verbose: options.verbose))
            let events = await proxy.events()
            output.note("dials the Matter server \(server)\(clients == nil ? "; Ctrl-C ends" : "")")
            group.addTask { try await proxy.run() }
            group.addTask { try await Self.showAll(events) { try Self.show($0, of: server, output) } }
        }

        /// Shows what happens to a proxy until its end, of which a cancelled task is told, too.
        private static func showAll<Event: Sendable>(
            _ events: BoundedStream<Event>, _ show: @escaping @Sendable (Event) throws -> Void
        ) async throws {
            // The proxy, which is cancelled as well, ends the events.
            try await Task { for try await event in events { try show(event) } }.value
        }

        /// Returns the address by which clients know the proxy: the one given, or kept, or else that of the first
        /// adapter, which is kept then, because another adapter may be the first at the next start.
        private static func identity(
            _ given: String?, _ file: ProxyKeyFile?, _ options: CommonOptions, _ central: Central
        ) async throws -> String {
            if let given { return given }
            // Simulated adapters have the same address on all machines.
            let file = options.backend == .simulated ? nil : file
            if let kept = try file?.readAddress() { return kept }
            let adapters = try await central.adapters()
            let chosen = options.radio.first?.name ?? options.adapter
            let adapter =
                if let chosen { adapters.first { $0.id == chosen } } else {
                    adapters.first(where: \.isInUse) ?? adapters.first
                }
            guard let address = adapter?.address else {
                throw BLEError(
                    .adapterNotFound, chosen.map { "there is no \($0)" } ?? "there is no adapter",
                    remedy: "Give the address by which clients know the proxy: --address")
            }
            return try file?.keepAddress(address) ?? address
        }

        /// Returns the key, and the file beside which the address is kept. No file if this user has no directory and
        /// needs none.
        private func readKey(_ output: Output) throws(BLEError) -> (EncryptionKey?, ProxyKeyFile?) {
            let environment = ProcessInfo.processInfo.environment
            guard !noEncryption else { return (nil, try? ProxyKeyFile.ofUser(environment)) }
            let file = if let keyFile { ProxyKeyFile(path: keyFile) } else { try ProxyKeyFile.ofUser(environment) }
            let (key, isNew) = try file.readOrMake()
            guard isNew || showKey else { return (key, file) }
            // Otherwise, the output may be a journal that others read.
            let isShown = showKey || isatty(STDOUT_FILENO) != 0
            var line: [String: JSON] = [
                "event": .string(isNew ? "keyMade" : "key"), "file": .string(file.path),
            ]
            if isShown { line["key"] = .string(key.text) }
            let place = "the key, \(isNew ? "now " : "")in \(file.path.harmless)"
            try? output.line(.object(line), isShown ? "\(place): \(key.text)" : place)
            return (key, file)
        }

        // MARK: Output

        private static func text(_ state: ProxyAnnouncement.State) -> String {
            switch state {
            case .announced(let name): "announced in the network as \(name)"
            case .unavailable(let reason):
                "not announced in the network, so clients need this machine's address: \(reason)"
            }
        }

        private static func showListening(
            _ host: String, _ port: UInt16, _ name: String, _ address: String, isEncrypted: Bool, _ output: Output
        ) throws {
            try output.line(
                .object([
                    "event": .string("listening"), "host": .string(host), "port": .int(Int(port)),
                    "name": .string(name), "address": .string(address), "encrypted": .bool(isEncrypted),
                ]),
                "\(name) (\(address)) listens at \(host.harmless), port \(port)\(isEncrypted ? "" : ", without a key")")
            output.note("Ctrl-C ends")
        }

        private static func missed(_ count: Int, _ what: String, _ id: Peripheral.ID) -> String {
            count == 1 ? "no link to \(id)" : "\(count) links \(what), the last one to \(id),"
        }

        private static func show(
            _ event: MatterProxyEvent, of server: MatterServerAddress, _ output: Output
        ) throws {
            func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }
            func line(_ event: String, _ text: String, _ keys: [String: JSON] = [:]) throws {
                let common: [String: JSON] = ["event": .string(event), "server": .string("\(server)")]
                try output.line(.object(common.merging(keys) { $1 }), text)
            }
            switch event {
            case .serverConnected: try line("serverConnected", "connected to the Matter server \(server)")
            case .serverNotReached(let reason, let pause):
                try line(
                    "serverNotReached",
                    "not connected to the Matter server \(server): \(reason.harmless); trying again in \(pause)",
                    ["reason": .string(reason), "retryAfter": .double(seconds(pause))])
            case .serverLost(let reason, let pause):
                let next = pause.map { "; trying again in \($0)" } ?? ""
                try line(
                    "serverLost", "lost the Matter server \(server): \(reason.harmless)\(next)",
                    ["reason": .string(reason), "retryAfter": .optional(pause) { .double(seconds($0)) }])
            case .linkConnected(let id):
                try line("connected", "connected \(id) for the Matter server", ["id": .string("\(id)")])
            case .linkDisconnected(let id):
                try line("disconnected", "disconnected \(id) of the Matter server", ["id": .string("\(id)")])
            case .linkRefused(let id, let count):
                try line(
                    "linkRefused",
                    "\(missed(count, "were refused", id)) for the Matter server: no slot is free, or a client has it",
                    ["id": .string("\(id)"), "count": .int(count)])
            }
        }

        private static func show(_ event: ProxyEvent, _ output: Output) throws {
            func line(
                _ event: String, _ client: ProxyEvent.Client, _ text: String, _ keys: [String: JSON] = [:]
            ) throws {
                let common: [String: JSON] = [
                    "event": .string(event), "client": .int(client.number), "name": .string(client.name),
                ]
                try output.line(.object(common.merging(keys) { $1 }), text)
            }
            func title(_ client: ProxyEvent.Client) -> String { "client \(client.number) (\(client.name.harmless))" }
            switch event {
            case .clientConnected(let client): try line("clientConnected", client, "\(title(client)) connected")
            case .clientDisconnected(let client, let dropped):
                let lost = dropped == 0 ? "" : "; \(dropped) advertisements were dropped"
                try line(
                    "clientDisconnected", client, "\(title(client)) disconnected\(lost)", ["dropped": .int(dropped)])
            case .clientRefused(let reason, let count):
                try output.line(
                    .object([
                        "event": .string("clientRefused"), "reason": .string(reason), "count": .int(count),
                    ]),
                    (count == 1 ? "a client was refused" : "\(count) clients were refused, the last one")
                        + ": \(reason.harmless)")
            case .linkConnected(let id, let client):
                try line("connected", client, "connected \(id) for \(title(client))", ["id": .string("\(id)")])
            case .linkDisconnected(let id, let client):
                try line("disconnected", client, "disconnected \(id) of \(title(client))", ["id": .string("\(id)")])
            case .linkFailed(let id, let client, let count):
                try line(
                    "linkFailed", client,
                    "\(missed(count, "failed", id)) for \(title(client)): it could not be made, or was given up",
                    ["id": .string("\(id)"), "count": .int(count)])
            case .linkRefused(let id, let client, let count):
                try line(
                    "linkRefused", client,
                    "\(missed(count, "were refused", id)) for \(title(client)): no slot is free, or another has it",
                    ["id": .string("\(id)"), "count": .int(count)])
            }
        }
    }
#endif
