import BLE
import BLESimulation
import BLETestSupport
import Synchronization
import Testing

@testable import BLECommand

/// The reaction of `channel` to a channel's end, with input and output of the test's own.
@Suite(.hangLimit)
struct ChannelExchangeTests {
    /// Packets of 100 bytes.
    private final class Input: ChannelInput {
        private let left: Mutex<Int>
        init(_ count: Int) { left = Mutex(count) }
        var hasMore: Bool { left.withLock { $0 > 0 } }
        func next(atMost count: Int, onTake: @escaping @Sendable () -> Void) async -> [UInt8]? {
            left.withLock { left in
                guard left > 0 else { return nil }
                left -= 1
                onTake()
                return [UInt8](repeating: 7, count: 100)
            }
        }
    }

    /// A packet that is taken at once, and arrives after the next one was asked for.
    private final class LateInput: ChannelInput {
        private let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        private let (taken, take) = AsyncStream.makeStream(of: Void.self)
        private let isTaken = Mutex(false)
        var hasMore: Bool {
            ask.finish()
            return false
        }
        func next(atMost count: Int, onTake: @escaping @Sendable () -> Void) async -> [UInt8]? {
            let isFirst = isTaken.withLock { isTaken in
                defer { isTaken = true }
                return !isTaken
            }
            guard isFirst else { return nil }
            onTake()
            take.finish()
            for await _ in asked {}
            return [7]
        }
        /// Returns when the packet was taken.
        func untilTaken() async { for await _ in taken {} }
    }

    private final class Failures: Sendable {
        private let codes = Mutex<[BLEError.Code]>([])
        var all: [BLEError.Code] { codes.withLock { $0 } }
        func add(_ error: BLEError) { codes.withLock { $0.append(error.code) } }
    }

    /// Opens a channel to a peripheral whose handler is given, and exchanges packets.
    private func exchange(
        _ input: any ChannelInput, count: Int? = nil, failures: Failures = Failures(), length: Int = 2048,
        _ handler: @escaping ChannelDefinition.Handler
    ) async throws -> Int {
        let radio = SimulatedRadio()
        let thing = await radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Thing"), services: [],
                channels: [ChannelDefinition(0x0080, maximumReceiveLength: length, onOpen: handler)]))
        let central = try await Central(backend: .simulated(radio), configuration: .quiet())
        let received = Mutex(0)
        do {
            let found = try await central.first(matching: .id(thing.id)).peripheral
            let channel = try await found.openChannel(0x0080)
            try await ChannelExchange(isRaw: true, count: count).run(channel, input) { _ in
                received.withLock { $0 += 1 }
            } complain: {
                failures.add($0)
            }
            await central.shutDown()
        } catch {
            await central.shutDown()
            throw error
        }
        return received.withLock { $0 }
    }

    @Test func `the end of a channel before all input was sent is an error`() async throws {
        let error = await #expect(throws: BLEError.self) {
            try await exchange(Input(2000)) { channel in
                var packets = channel.packets.makeAsyncIterator()
                for _ in 0..<90 { _ = try await packets.next() }
            }
        }
        #expect(error?.code == .disconnected)
        #expect(ExitStatus.status(of: .disconnected) != 0)
    }

    @Test func `the end of a channel after all input was sent is not an error`() async throws {
        let count = try await exchange(Input(300)) { channel in
            var packets = channel.packets.makeAsyncIterator()
            for number in 0..<300 {
                _ = try await packets.next()
                if number % 100 == 0 { try await channel.send([1]) }
            }
        }
        #expect(count == 3)
    }

    @Test func `a packet that was taken from the input and not yet sent is counted as input`() async throws {
        let input = LateInput()
        let error = await #expect(throws: BLEError.self) {
            try await exchange(input) { _ in await input.untilTaken() }
        }
        #expect(error?.code == .disconnected)
    }

    @Test func `a line that is no packet leaves nothing to wait for, and is an error in the end`() async throws {
        /// The second thing to take never comes.
        final class Nonsense: ChannelInput {
            private let (end, ending) = AsyncStream.makeStream(of: Void.self)
            private let asked = Mutex(0)
            var hasMore: Bool { false }
            var isAskedTwice: Bool { asked.withLock { $0 == 2 } }
            func next(atMost count: Int, onTake: @escaping @Sendable () -> Void) async -> [UInt8]? {
                let number = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                guard number > 1 else {
                    onTake()
                    return []
                }
                for await _ in end {}
                return nil
            }
        }
        let input = Nonsense()
        let error = await expectError(.invalidArgument) {
            try await exchange(input) { _ in while !input.isAskedTwice { await Task.yield() } }
        }
        #expect(error.map { ExitStatus.status(of: $0.code) } == 64)
    }

    @Test func `a packet that does not fit is an error in the end, and the others are sent`() async throws {
        let failures = Failures()
        let error = await #expect(throws: BLEError.self) {
            try await exchange(Input(2), failures: failures, length: 50) { channel in
                // Closed by the other side when it sees that nothing comes.
                while failures.all.count < 2 { await Task.yield() }
            }
        }
        #expect(error?.code == .invalidLength)
        #expect(failures.all == [.invalidLength, .invalidLength])
    }
}
