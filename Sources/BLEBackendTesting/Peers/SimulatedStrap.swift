public import BLE
public import BLESimulation
internal import Waiting

/// The contract's peripheral as a definition, for all stacks that run definitions.
public actor SimulatedStrap {
    public private(set) var written: [UInt8] = []
    private var note: [UInt8] = []
    private var notifier: Notifier?
    private var isHeld = true
    private var held: [CheckedContinuation<Void, Never>] = []

    public init() {}

    /// The number of requests held at the slow characteristic.
    public var heldCount: Int { held.count }

    private var typed = Outcome<Passkey>()
    public private(set) var requests = 0

    /// Returns a pairing method, with this strap's user.
    public nonisolated func method(_ pairing: PeerPairing) -> SimulatedPairing {
        switch pairing {
        case .justWorks: .justWorks
        case .display: .display(EchoStrap.passkey)
        case .keyboard: .keyboard { _ in try? await self.nextTyped() }
        case .comparison: .comparison { _ in true }
        case .rejected: .rejected
        case .unanswered: .unanswered
        }
    }

    public func enter(_ passkey: Passkey) { typed.deliver(.success(passkey)) }

    private func nextTyped() async throws -> Passkey {
        defer { typed = Outcome() }
        return try await typed.wait()
    }

    public func reset() {
        typed = Outcome()
        written = []
        note = []
        release()
        isHeld = true
    }

    public func hold() { isHeld = true }

    public func release() {
        isHeld = false
        let waiting = held
        held = []
        for continuation in waiting { continuation.resume() }
    }

    private func take(_ value: [UInt8]) { written = value }

    private func take(note value: [UInt8]) { note = value }

    private func subscribed(_ notifier: Notifier) { self.notifier = notifier }

    private func answer(_ value: [UInt8]) async {
        guard let notifier, let operation = value.first else { return }
        if operation == 0xEE { await notifier.notify([0xEE]) }
        if operation != 0xFF { await notifier.notify([0x20] + value) }
    }

    private func pass() async {
        guard isHeld else { return }
        await withCheckedContinuation { held.append($0) }
    }

    public nonisolated var definition: PeripheralDefinition {
        PeripheralDefinition(
            address: EchoStrap.id.rawValue,
            advertisement: Advertisement(
                localName: EchoStrap.name, rssi: -50, txPower: 4,
                serviceUUIDs: [BluetoothUUID(0x180D), BluetoothUUID(0x180F)], manufacturerData: [0xFFFF: [1, 2, 3]],
                serviceData: [BluetoothUUID(0x180F): [87]]),
            advertisingInterval: .milliseconds(20),
            services: services(.original),
            channels: channels,
            maximumATTMTU: EchoStrap.packetLength)
    }

    nonisolated func services(_ services: PeerServices) -> [ServiceDefinition] {
        let lasting = [heartRate, battery, information]
        return switch services {
        case .original: lasting + [included, echo]
        case .added: lasting + [included, echo, addition]
        case .removed: lasting
        case .moved: lasting + [addition, included, echo]
        }
    }

    private nonisolated var channels: [ChannelDefinition] {
        let options = ChannelOptions(maximumReceiveLength: EchoStrap.channelLength)
        return [
            ChannelDefinition(EchoStrap.echoChannel, options: options) { channel in
                for try await packet in channel.packets { try await channel.send(packet) }
            },
            ChannelDefinition(EchoStrap.burstChannel, options: options) { channel in
                for try await order in channel.packets {
                    guard order.count == 6 else { return }
                    let count =
                        UInt32(order[0]) | UInt32(order[1]) << 8 | UInt32(order[2]) << 16 | UInt32(order[3]) << 24
                    let rest = [UInt8](repeating: 0, count: Int(order[4]) + Int(order[5]) << 8 - 4)
                    for number in 0..<count {
                        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
                        try await channel.send(bytes + rest)
                    }
                }
            },
            ChannelDefinition(EchoStrap.stalledChannel, options: options) { _ in
                _ = try? await Outcome<Void>().wait()
            },
        ]
    }

    private nonisolated var heartRate: ServiceDefinition {
        ServiceDefinition(
            BluetoothUUID(0x180D),
            characteristics: [
                CharacteristicDefinition(
                    BluetoothUUID(0x2A37), .notify,
                    onSubscribe: { notifier in
                        for rate in UInt8(72)...180 {
                            await notifier.notify([0x1E, rate, 10, 0, 0x00, 0x03, 0x33, 0x03])
                            try await notifier.clock.sleep(for: .milliseconds(100))
                        }
                    }),
                CharacteristicDefinition(BluetoothUUID(0x2A38), .read, value: [2]),
                CharacteristicDefinition(BluetoothUUID(0x2A39), .write),
            ])
    }

    private nonisolated var battery: ServiceDefinition {
        ServiceDefinition(
            BluetoothUUID(0x180F),
            characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A19), [.read, .notify], value: [87])])
    }

    private nonisolated var information: ServiceDefinition {
        ServiceDefinition(
            BluetoothUUID(0x180A),
            characteristics: [
                CharacteristicDefinition(BluetoothUUID(0x2A29), .read, value: Array("ACME".utf8)),
                CharacteristicDefinition(BluetoothUUID(0x2A24), .read, value: Array("HR-1".utf8)),
                CharacteristicDefinition(BluetoothUUID(0x2A25), .read, value: Array("0001".utf8)),
                CharacteristicDefinition(BluetoothUUID(0x2A27), .read, value: Array("B".utf8)),
                CharacteristicDefinition(BluetoothUUID(0x2A26), .read, value: Array("1.2".utf8)),
                CharacteristicDefinition(BluetoothUUID(0x2A28), .read, value: Array("3.4.5".utf8)),
                CharacteristicDefinition(
                    BluetoothUUID(0x2A23), .read, value: [0x78, 0x56, 0, 0, 0, 0x34, 0x12, 0]),
                CharacteristicDefinition(BluetoothUUID(0x2A50), .read, value: [1, 0xFF, 0xFF, 0x42, 0, 3, 1]),
            ])
    }

    private nonisolated var addition: ServiceDefinition {
        ServiceDefinition(
            EchoStrap.addedService,
            characteristics: [
                CharacteristicDefinition(EchoStrap.addition.key.characteristic, .read, value: Array("added".utf8))
            ])
    }

    private nonisolated var included: ServiceDefinition {
        ServiceDefinition(
            EchoStrap.included, isPrimary: false,
            characteristics: [
                CharacteristicDefinition(EchoStrap.extra.key.characteristic, .read, value: Array("included".utf8))
            ])
    }

    private nonisolated var echo: ServiceDefinition {
        ServiceDefinition(
            EchoStrap.service, includes: [EchoStrap.included],
            characteristics: [
                CharacteristicDefinition(
                    EchoStrap.input.key.characteristic, [.write, .writeWithoutResponse],
                    onWrite: { value, _ in await self.take(value) }),
                CharacteristicDefinition(
                    EchoStrap.output.key.characteristic, [.read, .notify, .indicate],
                    descriptors: [DescriptorDefinition(BluetoothUUID(0x2901), value: Array("Echo out".utf8))],
                    onRead: { _ in await self.written }),
                CharacteristicDefinition(
                    EchoStrap.secret.key.characteristic, .read, security: .encrypted, value: Array("secret".utf8)),
                CharacteristicDefinition(
                    EchoStrap.slow.key.characteristic, [.read, .write],
                    onRead: { _ in
                        await self.pass()
                        return Array("slow".utf8)
                    },
                    onWrite: { _, _ in await self.pass() }),
                CharacteristicDefinition(EchoStrap.twin.key.characteristic, .read, value: Array("first".utf8)),
                CharacteristicDefinition(EchoStrap.twin.key.characteristic, .read, value: Array("second".utf8)),
                CharacteristicDefinition(
                    EchoStrap.note.key.characteristic, [.read, .write, .reliableWrite],
                    descriptors: [
                        DescriptorDefinition(BluetoothUUID(0x2901), value: Array("Note".utf8)),
                        DescriptorDefinition(BluetoothUUID(0x2904), value: EchoStrap.noteFormat.bytes),
                    ],
                    onRead: { _ in await self.note }, onWrite: { value, _ in await self.take(note: value) }),
                CharacteristicDefinition(
                    EchoStrap.controlPoint.key.characteristic, [.write, .indicate],
                    onWrite: { value, _ in await self.answer(value) },
                    onSubscribe: { await self.subscribed($0) }),
                CharacteristicDefinition(
                    EchoStrap.sealed.key.characteristic, .read, security: .authenticated, value: Array("sealed".utf8)),
            ])
    }
}
