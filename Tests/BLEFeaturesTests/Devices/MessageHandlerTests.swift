import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// The functions of a handler for a feature, beyond messages of bytes.
@Suite(.hangLimit) struct MessageHandlerTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private struct Melody: ValueCodable, Equatable {
        var tempo: UInt16
        var notes: [UInt8]

        init(tempo: UInt16, notes: [UInt8]) { (self.tempo, self.notes) = (tempo, notes) }

        init(from reader: inout ValueReader) throws(BLEError) {
            tempo = try reader.uint16()
            notes = reader.rest()
        }

        func encode(into writer: inout ValueWriter) throws(BLEError) {
            writer.uint16(tempo)
            writer.bytes(notes)
        }
    }

    private final class Player: Feature {
        static let commands: Set<MessageCommand> = [
            MessageCommand(rawValue: 0x0101), MessageCommand(rawValue: 0x0201), MessageCommand(rawValue: 0x0301),
        ]
        let handler: MessageHandler
        init(handler: MessageHandler) { self.handler = handler }
    }

    private func player(_ answer: @escaping @Sendable ([UInt8]) -> [[UInt8]]) async throws -> (
        MessageHandler, FakeDevice
    ) {
        let device = try await FakeDevice(in: world, answer)
        let devices = Devices(world.central, configuration: try Devices.Configuration(features: [Player.self]))
        let connected = try await world.asTimePasses { try await devices.connect(serial: FakeDevice.serial) }
        return (try connected.feature(Player.self).handler, device)
    }

    @Test func `payloads and replies are typed`() async throws {
        let (handler, device) = try await player { request in
            [FakeDevice.reply(UInt16(request[2]) << 8 | UInt16(request[3]), Array(request[5...]) + [9])]
        }
        let melody = Melody(tempo: 120, notes: [1, 2])
        let set = MessageCommand(rawValue: 0x0101)
        #expect(try await handler.send(set, melody, reply: Melody.self) == Melody(tempo: 120, notes: [1, 2, 9]))
        try await handler.send(MessageCommand(rawValue: 0x0201), melody)
        try await handler.post(MessageCommand(rawValue: 0x0301), melody)
        #expect(device.requests.map { Array($0.dropFirst(5)) } == [[120, 0, 1, 2], [120, 0, 1, 2], [120, 0, 1, 2]])
    }

    @Test func `the error for a reply of another form contains its command`() async throws {
        let (handler, _) = try await player { _ in [FakeDevice.reply(0x0201, [7])] }
        let error = await expectError(.invalidValue) {
            try await handler.send(MessageCommand(rawValue: 0x0201), reply: Melody.self)
        }
        #expect(error?.message.contains("0201") == true)
        #expect(error?.peripheral != nil)
    }

    @Test func `a command that is not claimed is not sent`() async throws {
        let (handler, device) = try await player { _ in [] }
        await expectError(.commandConflict) {
            try await handler.send(MessageCommand(rawValue: 0x0999), Melody(tempo: 1, notes: []))
        }
        #expect(device.requests.isEmpty)
    }

    @Test func `other characteristics that notify can be read`() async throws {
        let (handler, device) = try await player { _ in [] }
        let key = Characteristic<[UInt8]>(FakeDevice.reply.characteristic, service: FakeDevice.service)
        var values = try await handler.notifications(of: key).makeAsyncIterator()
        await device.notify([1, 2, 3])
        #expect(try await values.next() == [1, 2, 3])
        try await device.peripheral.disconnect()
        await expectError(.disconnected) { try await values.next() }
    }

    @Test func `notifications are typed, and one of another form does not end them`() async throws {
        let (handler, device) = try await player { _ in [] }
        let stream = await handler.notifications(for: MessageCommand(rawValue: 0x0401), as: Melody.self)
        var melodies = stream.makeAsyncIterator()
        await device.notify([8, 3, 4, 1, 0, 120, 0, 5])
        await device.notify([6, 3, 4, 1, 0, 9])
        await device.notify([7, 3, 4, 1, 0, 60, 0])
        #expect(try await melodies.next() == Melody(tempo: 120, notes: [5]))
        let error = await expectError(.invalidValue) { try await melodies.next() }
        #expect(error?.message.contains("0401") == true)
        #expect(error?.peripheral == device.peripheral.id)
        #expect(try await melodies.next() == Melody(tempo: 60, notes: []))
        #expect(stream.droppedCount == 0)
        try await device.peripheral.disconnect()
        await expectError(.disconnected) { try await melodies.next() }
    }

    @Test func `a handler secures the link`() async throws {
        let (handler, _) = try await player { _ in [] }
        // This kind of device has no encryption.
        await expectError(.encryptionFailed) { try await handler.secure() }
    }

    @Test func `plain notifications are left out where encrypted ones are wanted`() async throws {
        let (handler, device) = try await player { _ in [] }
        let command = MessageCommand(rawValue: 0x0401)
        let all = await handler.notifications(for: command)
        let encrypted = await handler.notifications(for: command, isEncrypted: true)
        var plain = await handler.notifications(for: command, isEncrypted: false).makeAsyncIterator()
        await device.notify([6, 3, 4, 1, 0, 9])
        #expect(try await plain.next()?.payload == [9])
        var both = all.makeAsyncIterator()
        #expect(try await both.next()?.payload == [9])
        try await device.peripheral.disconnect()
        // The stream ends without a notification.
        await expectError(.disconnected) {
            for try await message in encrypted { Issue.record("\(message)") }
        }
    }
}
