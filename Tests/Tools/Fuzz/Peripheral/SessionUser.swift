internal import BLE
internal import BLEFeatures
internal import Synchronization

/// Uses a session in every way at once. Each request must end with a reply or an error, and an encrypted reply must
/// come from the device if that is honest.
final class SessionUser: Sendable {
    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: (name: String, task: Task<Void, Never>)] = [:]
        var finding: String?
        var ended = 0
        var codes: [String: Int] = [:]
        var replies: Set<[UInt8]> = []
        var notifications: Set<[UInt8]> = []
        var replyCount = 0
    }

    private let state = Mutex(State())
    private let session: MessageSession
    private let device: HostileDevice

    init(_ session: MessageSession, _ device: HostileDevice) { (self.session, self.device) = (session, device) }

    var finding: String? { state.withLock { $0.finding } }
    var openCount: Int { state.withLock { $0.open.count } }
    var openNames: [String] { state.withLock { $0.open.values.map(\.name).sorted() } }
    var counts: (ended: Int, replies: Int, codes: [String: Int]) {
        state.withLock { ($0.ended, $0.replyCount, $0.codes) }
    }

    private func find(_ finding: String) { state.withLock { $0.finding = $0.finding ?? finding } }

    /// Cancels one operation.
    func cancel(_ number: Int) {
        let task = state.withLock { state in
            let open = state.open.keys.sorted()
            return open.isEmpty ? nil : state.open[open[number % open.count]]?.task
        }
        task?.cancel()
    }

    private func run(_ name: String, _ body: @escaping @Sendable (UInt64) async throws(BLEError) -> Void) {
        state.withLock { state in
            state.last += 1
            let token = state.last
            // The task ends within the lock, so it is recorded before it ends.
            let task = Task {
                var code = "ok"
                do throws(BLEError) {
                    try await body(token)
                } catch {
                    code = "\(error.code)"
                }
                self.end(token, code)
            }
            state.open[token] = (name, task)
        }
    }

    private func end(_ token: UInt64, _ code: String) {
        state.withLock { state in
            state.open[token] = nil
            state.ended += 1
            state.codes[code, default: 0] += 1
        }
    }

    // MARK: Operations

    /// Begins an operation.
    func act(_ dice: inout Dice) {
        let session = session
        switch dice.below(20) {
        case 0...10: send(isEncrypted: true, &dice)
        case 11...13: send(isEncrypted: false, &dice)
        case 14:
            let message = Message(command(&dice), isEncrypted: dice.permille(500), payload: dice.bytes(atMost: 250))
            run("post") { (_) throws(BLEError) in try await session.post(message) }
        case 15: run("secure") { (_) throws(BLEError) in try await session.secure() }
        case 16 where dice.permille(300): run("pair") { (_) throws(BLEError) in try await session.pair() }
        case 17:
            let (request, peripheral) = (dice.bytes(atMost: 10), session.peripheral)
            run("control point") { (_) throws(BLEError) in
                let answer = try await peripheral.request(
                    [1] + request, on: HostileDevice.controlPoint.bytes, timeout: .seconds(4)
                ) { $0.first == 0x10 }
                if answer.first != 0x10 { self.find("a control point's answer that is none was taken") }
            }
        default: send(isEncrypted: true, &dice)
        }
    }

    private func command(_ dice: inout Dice) -> MessageCommand {
        MessageCommand(rawValue: dice.pick([0x0201, 0x0202, 0x0203]))
    }

    private func send(isEncrypted: Bool, _ dice: inout Dice) {
        let (command, rest) = (command(&dice), dice.bytes(atMost: 20))
        run(isEncrypted ? "encrypted request" : "request") { [self] (token) throws(BLEError) in
            let number = withUnsafeBytes(of: token.bigEndian) { Array($0) }
            let request = Message(command, isEncrypted: isEncrypted, payload: number + rest)
            check(try await session.send(request), to: request)
        }
    }

    private func check(_ reply: Message, to request: Message) {
        state.withLock { $0.replyCount += 1 }
        if reply.command != request.command || reply.type != .reply || reply.isEncrypted != request.isEncrypted {
            find("\(request) was answered with \(reply)")
        }
        guard request.isEncrypted, !device.isFalse else { return }
        if !device.wasSealed(reply.payload) { find("a forged reply was taken: \(reply)") }
        if device.mode == .bound, reply.payload != request.payload.reversed() {
            find("the reply to another request was taken: \(reply) for \(request)")
        }
        let isFirst = state.withLock { $0.replies.insert(reply.payload).inserted }
        if !isFirst { find("a reply was taken twice in \(device.mode) mode: \(reply)") }
    }

    /// Reads the encrypted notifications until the session ends.
    func listen() {
        let session = session
        run("listener") { [self] (_) throws(BLEError) in
            let notifications = await session.notifications(for: MessageCommand(rawValue: 0x0301))
            var iterator = notifications.makeAsyncIterator()
            while let message = try await iterator.next() {
                guard message.isEncrypted, !device.isFalse else { continue }
                if !device.wasSealed(message.payload) { find("a forged notification was taken: \(message)") }
                let isFirst = state.withLock { $0.notifications.insert(message.payload).inserted }
                if !isFirst { find("a notification was taken twice: \(message)") }
            }
        }
        run("problems") { (_) throws(BLEError) in
            var problems = await session.problems().makeAsyncIterator()
            while try await problems.next() != nil {}
        }
    }
}
