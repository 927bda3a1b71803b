// Compiled together with the targets that do not use libFuzzer.
internal import Glibc

/// A run of numbered inputs: its options, the number of the current input, which is written to a file in case of a
/// trap, and the memory in steps.
final class FuzzRun {
    let seed: UInt64
    /// The number after the last input.
    let last: Int
    private let replayed: Int?
    private let note: Int32
    private let start = FuzzRun.now
    private var memory: [Int] = []
    private var lastCheck = FuzzRun.now

    /// How much the memory may grow in the second half: a part of it, and KiB in any case.
    private static let growth = (part: 0.04, least: 1024)

    /// `--inputs N`, `--seed N`, `--replay N`, `--note FILE`
    init(_ arguments: [String]) {
        func value(_ name: String) -> String? {
            arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? arguments[$0 + 1] : nil }
        }
        seed = value("--seed").flatMap { UInt64($0) } ?? 1
        replayed = value("--replay").flatMap { Int($0) }
        last = replayed.map { $0 + 1 } ?? value("--inputs").flatMap { Int($0) } ?? 1_000_000
        note = value("--note").map { open($0, O_WRONLY | O_CREAT | O_TRUNC, 0o644) } ?? -1
    }

    /// Whether one input is played again.
    var isVerbose: Bool { replayed != nil }

    /// The inputs to play. When one is replayed, they include the earlier ones of its session.
    func numbers(_ sessionLength: Int) -> Range<Int> { (replayed.map { $0 - $0 % sessionLength } ?? 0)..<last }

    /// Shows a step of an input, when it is replayed.
    func trace(_ line: @autoclosure () -> String) { if isVerbose { say("   \(line())") } }

    func begin(_ number: Int) {
        if note >= 0 {
            let text = "\(number)         \n"
            _ = pwrite(note, text, 8, 0)
        }
        if isVerbose { say("input \(number)") }
        if replayed == nil, number > 0, number % max(last / 10, 1) == 0 { measure(number) }
    }

    private static let beginning = ContinuousClock.now
    /// In seconds.
    private static var now: Double { beginning.duration(to: .now) / .seconds(1) }

    /// Prints a line at once.
    func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }

    /// The resident memory, in KiB.
    private static func residentMemory() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("VmRSS:") { return Int(text.filter { "0"..."9" ~= $0 }) ?? 0 }
        }
        return 0
    }

    private func measure(_ number: Int) {
        memory.append(Self.residentMemory())
        let rate = Int(Double(number) / (Self.now - start))
        say("\(number) inputs, \(rate) a second, \(memory.last!) KiB")
    }

    /// Ends the run if there is a finding. Reports a step that has taken long, because it has waited for the bus's own
    /// deadlines.
    func check(_ finding: String?, _ number: Int, _ step: String) {
        let now = Self.now
        if now - lastCheck > 3 { say("slow: input \(number): \(step) took \(Int(now - lastCheck)) s") }
        lastCheck = now
        guard let finding else { return }
        say("found: input \(number): \(finding)")
        exit(1)
    }

    func end(_ text: String) {
        guard replayed == nil else { return }
        measure(last)
        say(text)
        guard memory.count >= 10 else { return }
        let (half, whole) = (memory[4], memory[9])
        guard whole - half > max(Self.growth.least, Int(Double(half) * Self.growth.part)) else { return }
        say("found: memory grows: \(half) KiB after half of the inputs, \(whole) KiB after all")
        exit(1)
    }
}
