#if DeviceCommands
    internal import BLEFeatures
    internal import Foundation

    /// The cost of encoding and decoding a message, with the framework and with plain code on Foundation's `Data`.
    ///
    /// Each way works through the same 1024 frames of 15 bytes, again and again. The sums that it reads from its results
    /// must be equal for all ways, so that the optimizer cannot leave anything out.
    enum CodecBenchmark {
        private static let repetitions = 2000
        private static let frameSize = 15

        /// Prints a line for each way: operation, way, nanoseconds of processor time for a frame.
        static func run() throws {
            var random = SystemRandomNumberGenerator()
            let messages = (0..<1024).map { _ in
                Message(
                    MessageCommand(rawValue: .random(in: 0 ... .max, using: &random)), type: .notification,
                    payload: (0..<frameSize - MessageHeader.size).map { _ in .random(in: 0 ... .max, using: &random) })
            }
            let naive = messages.map {
                NaiveMessage(
                    type: .notification, command: $0.command.rawValue, encrypted: false, payload: Data($0.payload))
            }
            let frames = try messages.flatMap { try $0.encode() }
            let datas = try messages.map { try Data($0.encode()) }

            let encoded = try [
                measure("encode", "array") { try encode(messages.span) },
                measure("encode", "buffer") { try encodeIntoBuffer(messages.span) },
                measure("encode", "data") { encodeNaively(naive.span) },
            ]
            let decoded = try [
                measure("decode", "header") { try decodeHeaders(frames.span) },
                measure("decode", "message") { try decodeMessages(frames.span) },
                measure("decode", "data") { try decodeNaively(datas.span) },
            ]
            guard Set(encoded).count == 1, Set(decoded).count == 1 else {
                print("the ways do not agree: \(encoded) \(decoded)")
                exit(70)
            }
        }

        /// Runs `body`, which works through all frames and returns a sum, and prints the time for one frame.
        private static func measure(_ what: String, _ how: String, _ body: () throws -> Int) rethrows -> Int {
            var sum = try body()
            let start = Measurement.cpuTime
            for _ in 0..<repetitions { sum &+= try body() }
            let nanoseconds = (Measurement.cpuTime - start) * 1000 / Double(repetitions * 1024)
            print(what, how, (nanoseconds * 100).rounded() / 100)
            return sum
        }

        @inline(never)
        private static func encode(_ messages: Span<Message>) throws -> Int {
            var sum = 0
            for index in messages.indices {
                let frame = try messages[index].encode()
                sum &+= digest(frame.span)
            }
            return sum
        }

        @inline(never)
        private static func encodeIntoBuffer(_ messages: Span<Message>) throws -> Int {
            var sum = 0
            try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 255) { buffer in
                for index in messages.indices {
                    var output = OutputSpan(buffer: buffer, initializedCount: 0)
                    try messages[index].encode(into: &output)
                    sum &+= digest(output.span)
                }
            }
            return sum
        }

        @inline(never)
        private static func encodeNaively(_ messages: Span<NaiveMessage>) -> Int {
            var sum = 0
            for index in messages.indices {
                let frame = messages[index].encoded()
                sum &+= frame.withUnsafeBytes { digest($0.bindMemory(to: UInt8.self).span) }
            }
            return sum
        }

        @inline(never)
        private static func decodeHeaders(_ frames: Span<UInt8>) throws -> Int {
            var sum = 0
            for index in stride(from: 0, to: frames.count, by: frameSize) {
                let frame = frames.extracting(unchecked: Range(uncheckedBounds: (index, index + frameSize)))
                let header = try MessageHeader(decoding: frame)
                let payload = frame.extracting(MessageHeader.size...)
                sum &+= digest(header.type.rawValue, header.command.rawValue, header.isEncrypted)
                sum &+= Int(payload[0]) &+ Int(payload[payload.count - 1])
            }
            return sum
        }

        @inline(never)
        private static func decodeMessages(_ frames: Span<UInt8>) throws -> Int {
            var sum = 0
            for index in stride(from: 0, to: frames.count, by: frameSize) {
                let frame = frames.extracting(unchecked: Range(uncheckedBounds: (index, index + frameSize)))
                let message = try Message(decoding: frame)
                sum &+= digest(message.type.rawValue, message.command.rawValue, message.isEncrypted)
                sum &+= Int(message.payload[0]) &+ Int(message.payload[message.payload.count - 1])
            }
            return sum
        }

        @inline(never)
        private static func decodeNaively(_ frames: Span<Data>) throws -> Int {
            var sum = 0
            for index in frames.indices {
                let message = try NaiveMessage(frames[index])
                sum &+= digest(message.type.rawValue, message.command, message.encrypted)
                sum &+= Int(message.payload.first!) &+ Int(message.payload.last!)
            }
            return sum
        }

        /// A number from a frame. Not inlined, so that the whole frame must exist.
        @inline(never)
        private static func digest(_ frame: Span<UInt8>) -> Int {
            frame.count &+ Int(frame[2]) &+ Int(frame[frame.count - 1]) << 8
        }

        private static func digest(_ type: UInt8, _ command: UInt16, _ isEncrypted: Bool) -> Int {
            Int(type) &+ Int(command) << 8 &+ (isEncrypted ? 1 : 0)
        }
    }
#endif
