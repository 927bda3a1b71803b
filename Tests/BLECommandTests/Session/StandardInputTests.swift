import BLETestSupport
import Foundation
import Synchronization
import Testing

@testable import BLECommand

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Lines that are read on demand, from a pipe.
@Suite(.hangLimit)
struct StandardInputTests {
    private let reader: Int32
    private let writer: Int32
    private let input: StandardInput

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        (reader, writer) = (ends[0], ends[1])
        input = StandardInput(reader)
    }

    private func send(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(write(writer, bytes, bytes.count) == bytes.count)
    }

    @Test func `what has arrived is dropped, and what comes later is read`() async {
        send("old\nolder\nha")
        input.drop(whatArrived: true)
        #expect(!input.hasMore)
        send("new\n")
        #expect(await input.nextLine() == "new")
        send("rest")
        close(writer)
        #expect(await input.nextLine() == "rest")
        #expect(await input.nextLine() == nil)
        #expect(!input.hasMore)
        close(reader)
    }

    @Test func `the rest of a line that was cut is no line of its own`() async {
        let long = String(repeating: "x", count: 1 << 20)
        let (writer, input) = (writer, input)
        // On a thread of its own, because a pipe has less room.
        let writing = Thread {
            for text in [long, long, "rm -rf\n", "next\n", long, "rest"] {
                var bytes = Array(text.utf8)[...]
                while !bytes.isEmpty {
                    let count = bytes.withUnsafeBytes { write(writer, $0.baseAddress, $0.count) }
                    guard count > 0 else { return }
                    bytes = bytes.dropFirst(count)
                }
            }
            close(writer)
        }
        writing.start()
        let first = await input.nextLine()
        #expect(first?.allSatisfy { $0 == "x" } == true)
        #expect(first.map { $0.utf8.count >= 1 << 20 } == true)
        #expect(await input.nextLine() == "next")
        #expect(await input.nextLine()?.hasPrefix("xxx") == true)
        #expect(await input.nextLine() == nil)
        close(reader)
    }

    @Test func `taken input is reported at that moment, and no longer waits`() async {
        let taken = Mutex(0)
        send("one\ntwo")
        #expect(input.hasMore)
        #expect(await input.nextLine { taken.withLock { $0 += 1 } } == "one")
        #expect(taken.withLock { $0 } == 1)
        #expect(input.hasMore)
        #expect(await input.next(atMost: 3) { taken.withLock { $0 += 1 } } == Array("two".utf8))
        #expect(taken.withLock { $0 } == 2)
        #expect(!input.hasMore)
        close(writer)
        #expect(await input.next(atMost: 3) { taken.withLock { $0 += 1 } } == nil)
        #expect(await input.nextLine { taken.withLock { $0 += 1 } } == nil)
        #expect(taken.withLock { $0 } == 2)
        close(reader)
    }
}
