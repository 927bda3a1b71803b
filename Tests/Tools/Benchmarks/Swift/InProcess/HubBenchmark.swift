#if DeviceCommands
    internal import BLE
    internal import BLEESPHome
    internal import BLEProxy
    internal import BLESimulation
    internal import Glibc
    internal import Logging
    internal import Loop
    internal import Synchronization
    internal import Waiting

    /// A proxy with ten clients that are all sent advertisements, on a simulated radio with 10,000 of them a second: what
    /// each client receives, what is dropped, and what it costs.
    ///
    /// Eight clients read, one reads nothing, and one also reads a value of its peripheral again and again.
    enum HubBenchmark {
        private static let (devices, interval) = (1000, Duration.milliseconds(100))
        private static let (readers, rate) = (8, 10_000)
        private static let level = BluetoothUUID(0x2A19)

        /// - Parameters:
        ///   - seconds: how long it is measured.
        ///   - isEncrypted: whether the clients need a key.
        @concurrent
        static func run(seconds: Int, isEncrypted: Bool) async throws {
            let radio = SimulatedRadio()
            for number in 0..<devices {
                _ = await radio.add(
                    PeripheralDefinition(
                        advertisement: Advertisement(
                            localName: "Beacon \(number)", rssi: -50, manufacturerData: [0xFFFF: [1, 2, 3, 4, 5, 6]]),
                        advertisingInterval: interval, services: []))
            }
            let thing = await radio.add(.battery(name: "Thing", level: 90))
            let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
            let key = isEncrypted ? EncryptionKey.random() : nil
            try await withCentral(backend: .simulated(radio), configuration: Central.Configuration(logger: logger)) {
                central in
                let server = ProxyServer(
                    central, .init(name: "hub", address: "AA:BB:CC:DD:EE:FF", key: key), logger: logger)
                let events = await server.events()
                let loop = EventLoop(name: "clients")
                var clients: [BenchmarkClient] = []
                for _ in 0..<readers + 1 { clients.append(try await BenchmarkClient(server, key, loop)) }
                let user = try await BenchmarkClient(server, key, EventLoop(name: "user"))
                let address = DeviceAddress(thing.id)!.rawValue
                let handle = try await user.connect(address, level)
                let deaf = clients[readers]
                for client in clients + [user] { client.send(.subscribeAdvertisements(flags: 1)) }
                deaf.pause()
                try await ContinuousClock().sleep(for: .seconds(2))
                let (start, cpu, clientCPU) = (
                    ContinuousClock.now, Measurement.cpuTime, await loop.cpuTime() + user.loop.cpuTime()
                )
                let before = (clients + [user]).map(\.count)
                var (memory, latencies) = (0, [Duration]())
                while start.duration(to: .now) < .seconds(seconds) {
                    if memory == 0, start.duration(to: .now) > .seconds(seconds) / 10 { memory = Memory.resident }
                    latencies.append(try await user.read(address, handle))
                    try await ContinuousClock().sleep(for: .milliseconds(5))
                }
                let time = start.duration(to: .now) / .seconds(1)
                let counts = zip(clients + [user], before).map { $0.0.count - $0.1 }
                let (used, usedByClients) = (
                    Measurement.cpuTime - cpu, await loop.cpuTime() + user.loop.cpuTime() - clientCPU
                )
                let grown = Memory.resident
                await server.close()
                var dropped: [Int] = []
                for try await event in events {
                    if case .clientDisconnected(_, let count) = event { dropped.append(count) }
                }
                latencies.sort()
                func milliseconds(_ part: Double) -> Double {
                    (latencies[min(latencies.count - 1, Int(Double(latencies.count) * part))] / .microseconds(1) / 10)
                        .rounded() / 100
                }
                func percent(_ microseconds: Double) -> Double { (microseconds / time / 1000).rounded() / 10 }
                let expected = Double(rate) * time
                print(
                    isEncrypted ? "encrypted" : "plain", "received",
                    counts.enumerated().filter { $0.offset != readers }.map {
                        Int((Double($0.element) / expected * 1000).rounded())
                    }, "per mille of \(Int(expected)), deaf \(counts[readers])")
                print("dropped", dropped.sorted())
                print("CPU: all \(percent(used)) %, of which the clients \(percent(usedByClients)) %")
                print("memory: \(memory / 1024) KiB at 10 %, \(grown / 1024) KiB at the end")
                print(
                    "reads: \(latencies.count), ms: median \(milliseconds(0.5)), 99 % \(milliseconds(0.99)), longest",
                    milliseconds(1))
                await central.shutDown()
            }
        }
    }

    extension EventLoop {
        /// The processor time of its thread, in microseconds.
        fileprivate func cpuTime() async -> Double {
            await withCheckedContinuation { continuation in
                perform {
                    var now = timespec()
                    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
                    continuation.resume(returning: Double(now.tv_sec) * 1e6 + Double(now.tv_nsec) / 1e3)
                }
            }
        }
    }

    /// A client that counts the advertisements that it is sent.
    private final class BenchmarkClient: Sendable {
        let loop: EventLoop
        private let socket: StreamSocket
        private let channel: Mutex<MessageChannel>
        private let state = Mutex((count: 0, waits: false, answers: [ProxyMessage](), answer: Outcome<Void>()))

        init(_ server: ProxyServer, _ key: EncryptionKey?, _ loop: EventLoop) async throws {
            let (here, there) = try StreamSocket.pair()
            self.loop = loop
            socket = StreamSocket(here, on: loop)
            channel = Mutex(MessageChannel(client: key))
            await server.accept(there)
            loop.perform { [self] in
                socket.open(onBytes: { [weak self] in self?.receive($0) }, onEnd: {})
                socket.send(channel.withLock { $0.takeOutput() })
            }
            while !isOpen { try await ContinuousClock().sleep(for: .milliseconds(1)) }
            send(.hello(client: "benchmark", version: .current))
            _ = try await answer { if case .helloAnswer = $0 { true } else { false } }
        }

        private var isOpen: Bool { channel.withLock { $0.isOpen } }
        var count: Int { state.withLock { $0.count } }

        private func receive(_ bytes: ArraySlice<UInt8>) {
            channel.withLock { channel in
                channel.append(bytes)
                while let event = try? channel.next() {
                    guard case .received(let message) = event else { continue }
                    if case .advertisements(let all) = message {
                        state.withLock { $0.count += all.count }
                    } else if message == .ping {
                        try? channel.send(.pingAnswer)
                    } else {
                        state.withLock { state in
                            state.answers.append(message)
                            if state.waits { state.answer.deliver(.success(())) }
                        }
                    }
                }
                socket.send(channel.takeOutput())
            }
        }

        func send(_ message: ProxyMessage) {
            loop.perform { [self] in
                let output = channel.withLock { channel in
                    try? channel.send(message)
                    return channel.takeOutput()
                }
                socket.send(output)
            }
        }

        func pause() { loop.perform { [socket] in socket.pause() } }

        /// Waits for an answer, and forgets it and the earlier ones.
        private func answer(_ matches: (ProxyMessage) -> Bool) async throws -> ProxyMessage {
            while true {
                let outcome = Outcome<Void>()
                let found: ProxyMessage? = state.withLock { state in
                    if let index = state.answers.firstIndex(where: matches) {
                        let found = state.answers[index]
                        (state.answers, state.waits) = ([], false)
                        return found
                    }
                    (state.answers, state.waits, state.answer) = ([], true, outcome)
                    return nil
                }
                if let found { return found }
                try await outcome.wait()
            }
        }

        /// Connects, and returns the handle of a characteristic.
        func connect(_ address: UInt64, _ characteristic: BluetoothUUID) async throws -> UInt32 {
            send(.request(.connect, address: address, addressType: 1))
            _ = try await answer { if case .connection(address, true, _, 0) = $0 { true } else { false } }
            send(.servicesRequest(address: address))
            while true {
                guard
                    case .services(_, let services) = try await answer({
                        if case .services = $0 { true } else { false }
                    })
                else { continue }
                for found in services.flatMap(\.characteristics) where found.uuid == characteristic {
                    return found.handle
                }
            }
        }

        /// Reads a value, and returns the time until the answer.
        func read(_ address: UInt64, _ handle: UInt32) async throws -> Duration {
            let start = ContinuousClock.now
            send(.read(address: address, handle: handle))
            _ = try await answer { if case .readAnswer(address, handle, _) = $0 { true } else { false } }
            return start.duration(to: .now)
        }
    }
#endif
