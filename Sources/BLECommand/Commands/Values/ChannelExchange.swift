import BLE
import BLEDefinitions
import Synchronization
internal import Waiting

/// The input that is sent over a channel: standard input, or the input of a test.
protocol ChannelInput: Sendable {
    /// Returns the next packet, of at most `count` bytes if the input is not divided into packets; nil at the end.
    /// Returns an empty packet for input that is not a packet.
    ///
    /// - Parameter onTake: called at the moment when ``hasMore`` no longer counts the input that is taken.
    func next(atMost count: Int, onTake: @escaping @Sendable () -> Void) async -> [UInt8]?
    /// Whether more input is waiting.
    var hasMore: Bool { get }
}

/// Standard input and output as the other side of a channel.
struct ChannelExchange: Sendable {
    let isRaw: Bool
    /// The number of received packets after which the exchange ends.
    let count: Int?

    func run(_ channel: L2CAPChannel, _ output: Output) async throws {
        output.note("opened \(channel.psm), packets of up to \(channel.maximumLength) bytes (Ctrl-C ends)")
        let input = StandardChannelInput(isRaw: isRaw) { output.note("not a packet in hexadecimal: \($0.excerpt)") }
        try await run(channel, CommandClock.isVirtual ? nil : input) { packet in
            if isRaw {
                try output.bytes(packet)
            } else {
                try output.line(.object(["value": .hex(packet)]), packet.isEmpty ? "-" : Hex.string(packet))
            }
        } complain: {
            output.complain($0)
        }
    }

    /// Sends the input, and receives until the other side closes the channel, or the count is reached.
    ///
    /// Throws what kept a packet from being sent, `invalidArgument` for input that is none, and `disconnected` if input
    /// was left when the other side closed the channel.
    func run(
        _ channel: L2CAPChannel, _ input: (any ChannelInput)?, receive: ([UInt8]) throws -> Void,
        complain: @escaping @Sendable (BLEError) -> Void
    ) async throws {
        let sent = SentState()
        let sending = Task { if let input { await Self.send(input, channel, sent, complain) } }
        defer {
            sending.cancel()
            channel.close()
        }
        var received = 0
        for try await packet in channel.packets {
            received += 1
            try receive(packet)
            if received == count { return try sent.check() }
        }
        let hasMore = input?.hasMore == true
        try await sent.settle()
        var isCut = hasMore
        do throws(BLEError) {
            try sent.check()
        } catch {
            // The channel ended before the packet was sent.
            guard error.code == .disconnected else { throw error }
            isCut = true
        }
        guard !isCut else {
            throw BLEError(
                .disconnected, "the other side has closed the channel before all input was sent", isRetryable: false)
        }
    }

    /// Sends the input, each packet after the previous one has left this system, because packets that still wait when
    /// the other side closes the channel are lost.
    private static func send(
        _ input: any ChannelInput, _ channel: L2CAPChannel, _ sent: SentState,
        _ complain: @Sendable (BLEError) -> Void
    ) async {
        while let packet = await input.next(atMost: channel.maximumLength, onTake: { sent.begin() }) {
            guard !packet.isEmpty else {
                sent.end(BLEError(.invalidArgument, "a line of the input is not a packet in hexadecimal"))
                continue
            }
            do throws(BLEError) {
                try await channel.send(packet)
                try await channel.waitUntilSent()
                sent.end(nil)
            } catch {
                sent.end(error)
                // After this error, the next packet may fit. All other errors end the channel.
                guard error.code == .invalidLength else { return channel.close() }
                complain(error)
            }
        }
    }
}

/// Whether all input was sent.
private final class SentState: Sendable {
    private struct State {
        var failure: BLEError?
        /// Delivered when the current packet was sent, or has failed.
        var packet: Outcome<Void>?
    }

    private let state = Mutex(State())

    /// Records that a packet was taken from the input.
    func begin() { state.withLock { $0.packet = Outcome() } }

    func end(_ failure: BLEError?) {
        let packet = state.withLock { state in
            state.failure = state.failure ?? failure
            defer { state.packet = nil }
            return state.packet
        }
        packet?.deliver(.success(()))
    }

    /// Waits until the current packet was sent, or has failed.
    func settle() async throws(BLEError) {
        try await state.withLock { $0.packet }?.wait()
    }

    /// Throws the error of the first packet that could not be sent.
    func check() throws(BLEError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }
}

/// Standard input, as bytes or as lines of hexadecimal.
private struct StandardChannelInput: ChannelInput {
    let isRaw: Bool
    /// Called for lines that are not packets.
    let onOther: @Sendable (String) -> Void

    var hasMore: Bool { StandardInput.shared.hasMore }

    func next(atMost count: Int, onTake: @escaping @Sendable () -> Void) async -> [UInt8]? {
        if isRaw { return await StandardInput.shared.next(atMost: count, onTake: onTake) }
        guard let line = await StandardInput.shared.nextLine(onTake: onTake) else { return nil }
        if let bytes = Hex.bytes(line.filter { $0 != " " }), !bytes.isEmpty { return bytes }
        onOther(line)
        return []
    }
}
