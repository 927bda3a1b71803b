#if DeviceCommands
    internal import BLE
    internal import BLEFeatures
    internal import BLESimulation
    internal import Glibc
    internal import Logging
    internal import Synchronization

    /// The cost of a request and its reply on the simulation, both sides together: the session, the central, the simulated
    /// radio and the peripheral's answer, without any time in the air.
    enum ExchangeBenchmark {
        private static let count = 5000
        private static let exchange = MessageCommand(rawValue: 0x0103)
        private static let derivation = KeyDerivation(salt: "salt", info: "info")
        private static let encryption = MessageEncryption(derivation: derivation, command: exchange)

        /// Prints a line for plain and for encrypted messages: operation, way, microseconds of processor time for an
        /// exchange.
        static func run() async throws {
            let radio = SimulatedRadio()
            let device = AnsweringDevice(derivation: derivation)
            let grip = await radio.add(definition(device))
            device.grip.withLock { $0 = grip }
            let configuration = Central.Configuration(
                logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
            try await withCentral(backend: .simulated(radio), configuration: configuration) { central in
                for try await _ in central.discoveries() { break }
                let session = MessageSession(
                    central.peripheral(grip.id),
                    configuration: TransactionConfiguration(request: Self.request, reply: reply), encryption: encryption
                )
                try await session.pair()
                try await measure(session, "plain", isEncrypted: false)
                try await measure(session, "sealed", isEncrypted: true)
            }
        }

        private static func measure(_ session: MessageSession, _ how: String, isEncrypted: Bool) async throws {
            let message = Message(
                MessageCommand(rawValue: 0x0201), isEncrypted: isEncrypted, payload: Array(repeating: 7, count: 10))
            for _ in 0..<200 { _ = try await session.send(message) }
            let start = Measurement.cpuTime
            for _ in 0..<count {
                guard try await session.send(message).payload == message.payload else {
                    print("a reply is not what was asked for")
                    exit(70)
                }
            }
            print("exchange", how, ((Measurement.cpuTime - start) / Double(count) * 100).rounded() / 100)
        }

        private static let service = Devices.Configuration.defaultService
        private static let request = CharacteristicKey(
            service: service, characteristic: Devices.Configuration.defaultRequest)
        private static let reply = CharacteristicKey(
            service: service, characteristic: Devices.Configuration.defaultReply)

        private static func definition(_ device: AnsweringDevice) -> PeripheralDefinition {
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50, serviceUUIDs: [service]),
                services: [
                    ServiceDefinition(
                        service,
                        characteristics: [
                            CharacteristicDefinition(
                                request.characteristic, .write,
                                onWrite: { (bytes, _) throws(ATTError) in
                                    guard let answer = device.answer(bytes) else { throw .unlikelyError }
                                    await device.grip.withLock { $0 }?.notify(answer, from: reply.characteristic)
                                }),
                            CharacteristicDefinition(reply.characteristic, .notify),
                        ])
                ])
        }
    }

    /// The other side: exchanges keys, and sends every request's payload back.
    private final class AnsweringDevice: Sendable {
        let grip = Mutex<SimulatedPeripheral?>(nil)
        private let cipher = Mutex<MessageCipher?>(nil)
        private let derivation: KeyDerivation

        init(derivation: KeyDerivation) { self.derivation = derivation }

        func answer(_ frame: [UInt8]) -> [UInt8]? {
            guard let header = try? MessageHeader(decoding: frame.span) else { return nil }
            return try? header.isEncrypted ? answerSealed(frame) : answerPlain(Message(decoding: frame))
        }

        private func answerSealed(_ frame: [UInt8]) throws(MessageError) -> [UInt8] {
            try cipher.withLock { (cipher) throws(MessageError) in
                guard cipher != nil else { throw .missingKey }
                let request = try cipher!.open(frame)
                return try cipher!.seal(Message(request.command, type: .reply, payload: request.payload))
            }
        }

        private func answerPlain(_ request: Message) throws -> [UInt8] {
            guard request.command.rawValue == 0x0103 else {
                return try Message(request.command, type: .reply, payload: request.payload).encode()
            }
            let (keys, reply) = try KeyExchange().answer(
                KeyExchangeRequest(decoding: request.payload), derivation: derivation)
            cipher.withLock { $0 = MessageCipher(.bound, role: .peripheral, keys: keys) }
            return try Message(request.command, type: .reply, payload: reply).encode()
        }
    }
#endif
