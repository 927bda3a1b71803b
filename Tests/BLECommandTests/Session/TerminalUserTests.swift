import BLE
import BLETestSupport
import Testing

@testable import BLECommand

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Answers to pairing prompts that are typed on a terminal of the test's own.
@Suite(.hangLimit)
struct TerminalUserTests {
    /// A pseudoterminal, whose keyboard is the test.
    private final class Terminal: Sendable {
        let descriptor: Int32
        private let keyboard: Int32

        init() throws {
            var (keyboard, descriptor): (Int32, Int32) = (0, 0)
            try #require(openpty(&keyboard, &descriptor, nil, nil, nil) == 0)
            (self.keyboard, self.descriptor) = (keyboard, descriptor)
        }

        /// Types a text, and returns when the terminal has echoed it.
        func type(_ text: String) throws {
            let bytes = Array(text.utf8)
            try #require(write(keyboard, bytes, bytes.count) == bytes.count)
            var byte: UInt8 = 0
            for _ in bytes { try #require(read(keyboard, &byte, 1) == 1) }
        }

        /// Types the end of the input, which has no echo.
        func typeEnd() throws {
            var end: UInt8 = 4
            try #require(write(keyboard, &end, 1) == 1)
        }

        /// Ends the terminal.
        func hangUp() { close(keyboard) }
    }

    @Test func `an end of the input that was typed remains the end`() async throws {
        let terminal = try Terminal()
        let input = StandardInput(terminal.descriptor)
        try terminal.typeEnd()
        #expect(await input.nextLine() == nil)
        #expect(await input.nextLine() == nil)
        #expect(!input.hasMore)
        terminal.hangUp()
    }

    @Test(arguments: [TerminalUser.Source.given, .standardInput])
    func `input for a withdrawn prompt is not part of the next answer`(_ source: TerminalUser.Source)
        async throws
    {
        let terminal = try Terminal()
        let input = StandardInput(terminal.descriptor)
        let user = TerminalUser(saysYes: false, source: source, output: Output(json: true), input: input)
        @Sendable func ask() async -> PairingAnswer { await user.reply(to: .authorizePairing, of: "C0:00:00:00:00:01") }
        let reading = Task {
            guard source == .given else { return }
            while await user.nextLine() != nil {}
        }
        let first = Task { await ask() }
        await until { await user.isAsking }
        try terminal.type("y")
        first.cancel()
        #expect(await first.value == .refuse)
        let second = Task { await ask() }
        await until { await user.isAsking }
        try terminal.type("\n")
        // Without a separate yes.
        #expect(await second.value == .refuse)
        let third = Task { await ask() }
        await until { await user.isAsking }
        try terminal.type("y\n")
        #expect(await third.value == .accept)
        terminal.hangUp()
        await reading.value
    }

    @Test func `a line that was read before a prompt was shown does not answer it`() async throws {
        let terminal = try Terminal()
        let user = TerminalUser(
            saysYes: false, source: .given, output: Output(json: true), input: StandardInput(terminal.descriptor))
        @Sendable func ask() async -> PairingAnswer { await user.reply(to: .authorizePairing, of: "C0:00:00:00:00:01") }
        let first = Task { await ask() }
        await until { await user.isAsking }
        try terminal.type("y\n")
        let (line, shown) = await user.readLine()
        #expect(line == "y")
        first.cancel()
        #expect(await first.value == .refuse)
        // The line is on its way while the next device asks.
        let second = Task { await ask() }
        await until { await user.isAsking }
        #expect(await !user.take(line, shown: shown))
        try terminal.type("y\n")
        let (own, shownThen) = await user.readLine()
        #expect(await user.take(own, shown: shownThen))
        #expect(await second.value == .accept)
        terminal.hangUp()
    }
}
