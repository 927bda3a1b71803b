import BLE
import BLESimulation
import BLETestSupport
import Testing

@testable import BLEFeatures

/// A product whose payloads are typed on both sides.
@Suite(.hangLimit) struct MessageRepliesTests {
    private enum Command {
        static let brew = MessageCommand(rawValue: 0x0101)
        static let stop = MessageCommand(rawValue: 0x0201)
        static let count = MessageCommand(rawValue: 0x0301)
        static let clean = MessageCommand(rawValue: 0x0401)
        static let broken = MessageCommand(rawValue: 0x0501)
        static let poured = MessageCommand(rawValue: 0x0601)
        static let other = MessageCommand(rawValue: 0x0701)
    }

    private struct Order: ValueCodable, Equatable {
        var milliliters: UInt16
        var isStrong: Bool

        init(_ milliliters: UInt16, isStrong: Bool) { (self.milliliters, self.isStrong) = (milliliters, isStrong) }
        init(from reader: inout ValueReader) throws(BLEError) {
            (milliliters, isStrong) = (try reader.uint16(), try Bool(from: &reader))
        }
        func encode(into writer: inout ValueWriter) throws(BLEError) {
            guard milliliters < 1000 else { throw BLEError(.invalidValue, "too much") }
            writer.uint16(milliliters)
            isStrong.encode(into: &writer)
        }
    }

    /// What a central of the device uses.
    private final class Coffee: Feature {
        static let commands: Set<MessageCommand> = [
            Command.brew, Command.stop, Command.count, Command.clean, Command.broken, Command.poured, Command.other,
        ]
        let handler: MessageHandler
        init(handler: MessageHandler) { self.handler = handler }
    }

    private static func replies(
        otherwise: MessagePeripheral.Handler? = nil, stops: SharedValue<Int> = SharedValue(0)
    ) -> MessageReplies {
        var replies = otherwise.map { MessageReplies(otherwise: $0) } ?? MessageReplies()
        replies.reply(to: Command.brew) { (order: Order, _, device) in
            guard order.milliliters > 0 else { throw MessageRejection.wrongPayload }
            try await device.notify(Command.poured, order.milliliters)
            return Order(order.milliliters / 2, isStrong: true)
        }
        replies.reply(to: Command.stop) { (reason: UInt8, request, _) in
            #expect(request.payload == [reason])
            stops.change { $0 += 1 }
        }
        replies.reply(to: Command.count) { _, _ in UInt32(stops.value) }
        replies.reply(to: Command.clean, requiresEncryption: true) { _, _ in stops.change { $0 = 0 } }
        replies.reply(to: Command.broken) { _, _ in Order(1000, isStrong: false) }
        return replies
    }

    private func withDevice(
        _ replies: MessageReplies, _ check: (MessageHandler, MessagePeripheral) async throws -> Void
    ) async throws {
        let world = try await SimulatedWorld()
        let configuration = try Devices.Configuration(
            features: [Coffee.self], rejections: MessageCommand(rawValue: 0x0F01))
        let device = MessagePeripheral(configuration, mayPair: { _ in false }, onRequest: replies.handler)
        _ = try await world.add(device.definition(name: "Coffee", serial: [1, 2, 3, 4, 5, 6]))
        let devices = Devices(world.central, configuration: configuration)
        try await check(try await devices.connect(serial: "010203040506").feature(Coffee.self).handler, device)
        await world.central.shutDown()
    }

    private func reason(_ work: () async throws -> Void) async -> MessageRejection? {
        await expectError(.messageRejected) { try await work() }?.cause as? MessageRejection
    }

    @Test func `payloads of requests, replies and notifications are typed on both sides`() async throws {
        let stops = SharedValue(0)
        try await withDevice(Self.replies(stops: stops)) { handler, _ in
            var poured = await handler.notifications(for: Command.poured, as: UInt16.self).makeAsyncIterator()
            let half = try await handler.send(Command.brew, Order(240, isStrong: false), reply: Order.self)
            #expect(half == Order(120, isStrong: true))
            #expect(try await poured.next() == 240)
            try await handler.send(Command.stop, UInt8(7))
            #expect(stops.value == 1)
            #expect(try await handler.send(Command.count, reply: UInt32.self) == 1)
        }
    }

    @Test func `what has no reply is rejected with its reason`() async throws {
        try await withDevice(Self.replies()) { handler, device in
            #expect(await reason { try await handler.send(Command.brew, UInt8(1)) } == .wrongPayload)
            #expect(await reason { try await handler.send(Command.brew, Order(0, isStrong: true)) } == .wrongPayload)
            #expect(await reason { _ = try await handler.send(Message(Command.clean)) } == .notEncrypted)
            #expect(await reason { _ = try await handler.send(Message(Command.other)) } == .unknownCommand)
            #expect(await reason { _ = try await handler.send(Message(Command.broken)) } == .failed)
            #expect(await device.problemCount == 5)
        }
    }

    @Test func `other commands have a handler of their own, and the last reply to a command counts`() async throws {
        var replies = Self.replies(otherwise: { request, _ in request.payload.reversed() })
        replies.reply(to: Command.count) { _, _ in UInt32(99) }
        #expect(replies.commands.count == 5)
        try await withDevice(replies) { handler, _ in
            let reversed = try await handler.send(Message(Command.other, payload: [1, 2]))
            #expect(reversed.payload == [2, 1])
            let count = try await handler.send(Command.count, reply: UInt32.self)
            #expect(count == 99)
        }
    }

    @Test func `a payload of other bytes is a wrong payload, and one that is too long is not sent`() async throws {
        let request = MessageRequest(Command.brew, payload: [1, 2], from: DeviceID(rawValue: "C0:00:00:00:00:01"))
        #expect(try request.payload(as: UInt16.self) == 0x0201)
        #expect(throws: MessageRejection.wrongPayload) { try request.payload(as: UInt32.self) }
        try await withDevice(Self.replies()) { _, device in
            await expectError(.invalidValue) { try await device.notify(Command.poured, Order(1000, isStrong: true)) }
            let error = await expectError(.invalidMessage) {
                try await device.notify(Command.poured, String(repeating: "x", count: 251))
            }
            #expect(error?.cause as? MessageError == .payloadTooLong(count: 251, maximum: 250))
        }
    }
}
