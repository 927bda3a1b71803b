internal import BLE
internal import Glibc
internal import Synchronization

/// The cost of an element of a stream, from the producer to a reader that need not wait, in nanoseconds of processor
/// time.
enum ElementsBenchmark {
    private static let count = 2_000_000
    private static let burst = 250

    @concurrent
    static func run() async throws {
        try await measure("ours") {
            let (stream, producer) = BoundedStream.make(of: Int.self, policy: .fail(capacity: burst))
            var iterator = stream.makeAsyncIterator()
            var sum = 0
            for start in stride(from: 0, to: count, by: burst) {
                for number in start..<start + burst { producer.yield(number) }
                for _ in 0..<burst { sum += try await iterator.next() ?? 0 }
            }
            return sum
        }
        try await measure("asyncstream") {
            let (stream, producer) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(burst))
            var iterator = stream.makeAsyncIterator()
            var sum = 0
            for start in stride(from: 0, to: count, by: burst) {
                for number in start..<start + burst { producer.yield(number) }
                for _ in 0..<burst { sum += await iterator.next() ?? 0 }
            }
            return sum
        }
        try await measure("mutex") {
            let buffer = Mutex<[Int]>([])
            var sum = 0
            for start in stride(from: 0, to: count, by: burst) {
                for number in start..<start + burst { buffer.withLock { $0.append(number) } }
                for number in buffer.withLock({ exchange(&$0) }) { sum += number }
            }
            return sum
        }
    }

    private static func exchange(_ buffer: inout [Int]) -> [Int] {
        defer { buffer.removeAll(keepingCapacity: true) }
        return buffer
    }

    private static func measure(_ name: String, _ work: () async throws -> Int) async throws {
        let start = Measurement.cpuTime
        let sum = try await work()
        let cost = (Measurement.cpuTime - start) * 1000 / Double(count)
        guard sum == count * (count - 1) / 2 else {
            print("an element is missing")
            exit(70)
        }
        print("stream", name, (cost * 100).rounded() / 100)
    }
}
