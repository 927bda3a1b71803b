import BLE
import Testing

extension Contract {
    private static func order(_ count: Int, _ length: Int) -> [UInt8] {
        [
            UInt8(count & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count >> 16 & 0xFF), 0, UInt8(length & 0xFF),
            UInt8(length >> 8),
        ]
    }

    private static func number(_ packet: [UInt8]) -> Int {
        packet.prefix(4).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
    }

    func channelPackets() async throws {
        try await withStrap { strap in
            let channel = try await strap.openChannel(EchoStrap.echoChannel, maximumReceiveLength: 1000)
            #expect(channel.peer == strap.id)
            #expect(channel.psm == EchoStrap.echoChannel)
            #expect(channel.maximumLength == EchoStrap.channelLength)
            #expect(channel.maximumReceiveLength == 1000)
            for length in [0, EchoStrap.channelLength + 1] {
                let refused = await error { try await channel.send([UInt8](repeating: 0, count: length)) }
                #expect(refused?.code == .invalidLength)
                #expect(refused?.peripheral == strap.id)
            }
            // Packets are sent one by one, and many at once, while attributes are used.
            var packets = channel.packets.makeAsyncIterator()
            for length in [1, 2, 22, 23, 244, 255, 256, EchoStrap.channelLength] {
                let packet = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
                try await channel.send(packet)
                let returned = try await packets.next()
                #expect(returned == packet)
            }
            _ = try await strap.read(EchoStrap.output)
            let all = (0..<100).map { [UInt8](repeating: UInt8($0), count: 1 + $0 * 5) }
            let sending = failing { for packet in all { try await channel.send(packet) } }
            for packet in all {
                let returned = try await packets.next()
                #expect(returned == packet)
            }
            #expect(await sending.value == nil)
            // A second channel to the same number is separate.
            let other = try await strap.openChannel(EchoStrap.echoChannel)
            try await other.send([1])
            for try await packet in other.packets {
                #expect(packet == [1])
                break
            }
            other.close()
            try await channel.send([2])
            let last = try await packets.next()
            #expect(last == [2])
        }
    }

    func channelRefusals() async throws {
        try await withStrap { strap in
            let refused = await error { _ = try await strap.openChannel(0x00F0) }
            #expect(refused?.code == .channelRefused)
            #expect(refused?.isRetryable == false)
            #expect(refused?.peripheral == strap.id)
            for (psm, length) in [(0, 2048), (0x0100, 2048), (0x0080, 22), (0x0080, 65536)] as [(UInt16, Int)] {
                let invalid = await error {
                    _ = try await strap.openChannel(PSM(rawValue: psm), maximumReceiveLength: length)
                }
                #expect(invalid?.code == .invalidArgument)
            }
            #expect(await strap.connectionState == .connected)
            let value = try await strap.read(EchoStrap.extra)
            #expect(value == Array("included".utf8))
        }
    }

    func channelEnds() async throws {
        try await withStrap { strap in
            // This side closes the channel: the reader ends, and nothing can be sent.
            let first = try await strap.openChannel(EchoStrap.echoChannel)
            let reading = Task { for try await _ in first.packets {} }
            first.close()
            try await reading.value
            #expect(first.isClosed)
            let closed = await error { try await first.send([1]) }
            #expect(closed?.code == .disconnected)
            #expect(closed?.isRetryable == false)

            // The other side closes the channel after its last packets.
            let second = try await strap.openChannel(EchoStrap.burstChannel)
            try await second.send(Self.order(200, 20))
            try await second.send([0xFF])
            // During the reads, more packets arrive than the channel's buffer holds, and possibly the end.
            for _ in 0..<5 { _ = try await strap.read(EchoStrap.output) }
            var numbers: [Int] = []
            for try await packet in second.packets { numbers.append(Self.number(packet)) }
            #expect(numbers == Array(0..<200))
            let after1 = await error { try await second.send([1]) }
            #expect(after1?.code == .disconnected)
            #expect(await strap.connectionState == .connected)

            // The link is lost.
            let third = try await strap.openChannel(EchoStrap.echoChannel)
            try await third.send([3])
            var packets = third.packets.makeAsyncIterator()
            let returned = try await packets.next()
            #expect(returned == [3])
            try await peer.loseLink()
            let end = await error { while try await packets.next() != nil {} }
            #expect(end?.code == .disconnected)
            #expect(end?.peripheral == strap.id)
            let after2 = await error { try await third.send([1]) }
            #expect(after2?.code == .disconnected)
            // A new channel connects again.
            let fourth = try await strap.openChannel(EchoStrap.echoChannel)
            try await fourth.send([4])
            for try await packet in fourth.packets {
                #expect(packet == [4])
                break
            }
        }
    }

    func slowChannelReader() async throws {
        try await withStrap { strap in
            let channel = try await strap.openChannel(EchoStrap.burstChannel)
            try await channel.send(Self.order(400, 100))
            // During the reads, packets fill the channel, and the others wait on the other side.
            for _ in 0..<5 { _ = try await strap.read(EchoStrap.output) }
            var numbers: [Int] = []
            for try await packet in channel.packets {
                numbers.append(Self.number(packet))
                if numbers.count == 400 { break }
            }
            #expect(numbers == Array(0..<400))
            // The channel is released with its last reference.
        }
    }

    func fullChannel() async throws {
        try await withStrap { strap in
            let channel = try await strap.openChannel(EchoStrap.stalledChannel)
            let packet = [UInt8](repeating: 0, count: EchoStrap.channelLength)
            let full = await error {
                while true { try await channel.send(packet, timeout: .milliseconds(300)) }
            }
            #expect(full?.code == .timedOut)
            #expect(full?.peripheral == strap.id)
            // A wait ends with its task, and with the channel. A slow stack may accept some more packets before.
            let cancelled = failing { while true { try await channel.send(packet) } }
            cancelled.cancel()
            #expect(await cancelled.value?.code == .cancelled)
            let waiting = failing { while true { try await channel.send(packet) } }
            channel.close()
            #expect(await waiting.value?.code == .disconnected)
            _ = try await strap.read(EchoStrap.output)
        }
    }

    func channelSecurity() async throws {
        try await withPairing(.justWorks) { strap in
            let channel = try await strap.openChannel(EchoStrap.echoChannel, security: .encrypted)
            try await channel.send([7])
            for try await packet in channel.packets {
                #expect(packet == [7])
                break
            }
            let isPaired = try await strap.isPaired
            #expect(isPaired)
        }
    }
}
