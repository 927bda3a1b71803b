internal import BLE
internal import DBus
internal import Logging

/// The pairing agent of this program: the object that bluetoothd calls for prompts during a pairing.
///
/// A central has one agent for each adapter. It serves the `Pair` calls of its own bus connection, and passes on what
/// bluetoothd asks about devices of the central's other adapters. It is registered when a link is first requested, and
/// a default agent at the start. A program that only scans registers none, because BlueZ would use it for pairings that
/// no other agent handles. The registration lasts as long as bluetoothd runs, and is renewed after a restart. The agent
/// runs on the stack's executor.
actor BlueZAgent: BlueZRole {
    enum Event: Sendable {
        /// The prompts for a peripheral are complete or no longer valid.
        case ended(DeviceID)
        /// A prompt was refused, and with it the pairing of the device at that path.
        case refused(String)
    }

    /// The paths of a central's agent, and of a stack's.
    static let centralPath = "/org/swift_ble/agent"
    static let hostPath = "/org/swift_ble/host_agent"

    private let path: String
    nonisolated let stack: BlueZStack
    private let pairing: PairingAgent
    /// This agent and those of the central's other adapters.
    private let agents: BlueZAgents
    private let logger: Logger
    private let report: @Sendable (Event) async -> Void

    /// The number of this agent's registration with the stack; nil until the agent is needed.
    private var number: Int?
    /// The session that serves the agent, and its number there.
    private var served: (session: BusSession, number: UInt32)?
    /// The registration with the current bluetoothd.
    private var registration: Task<Void, Never>?
    private var problem: DBusError?
    /// The unanswered prompts, by token, each with the agent that bluetoothd has asked.
    private var prompts: [Int: (asked: ObjectIdentifier, task: Task<PairingAnswer, Never>)] = [:]
    private var lastToken = 0
    private var lastPrompted: (id: DeviceID, asked: ObjectIdentifier)?

    nonisolated var unownedExecutor: UnownedSerialExecutor { stack.unownedExecutor }

    /// - Parameter report: receives events. A refusal is answered when it returns.
    init(
        _ stack: BlueZStack, _ pairing: PairingAgent, path: String = centralPath, among agents: BlueZAgents,
        logger: Logger, report: @escaping @Sendable (Event) async -> Void
    ) {
        (self.stack, self.pairing, self.logger, self.report) = (stack, pairing, logger, report)
        (self.path, self.agents) = (path, agents)
        agents.add(self)
    }

    /// Whether bluetoothd has not accepted the agent.
    nonisolated var hasFailed: Bool { assumeIsolated { $0.problem != nil } }

    /// The number of unanswered prompts.
    nonisolated var promptCount: Int { assumeIsolated { $0.prompts.count } }

    // MARK: Registration

    /// Registers the agent for a link that may pair. Returns when bluetoothd knows the agent, or the registration has
    /// failed.
    func register() async {
        if number == nil {
            let renewal = Registration(
                lost: { [weak self] in self?.assumeIsolated { $0.lost() } },
                renew: { [weak self] in await self?.renew() })
            number = onStack { $0.addRegistration(renewal) }
        }
        let registration = registration ?? Task { await self.registerOnce() }
        self.registration = registration
        await registration.value
        // The next request for a link retries, unless this bluetoothd does not support agents.
        guard let problem, !Self.lacking.contains(problem.name) else { return }
        if self.registration == registration { self.registration = nil }
    }

    /// The answers of a bluetoothd without AgentManager1.
    private static let lacking = Set(
        ["UnknownObject", "UnknownMethod", "UnknownInterface"].map { "org.freedesktop.DBus.Error.\($0)" })

    private func renew() async {
        if number != nil { await register() }
    }

    /// Ends the registration. bluetoothd also forgets the agent when the session is closed, but later: the agent that
    /// another program registers meanwhile would not be the first one.
    func stop() async {
        if let number { onStack { $0.removeRegistration(number) } }
        number = nil
        lost()
        guard let (session, number) = served else { return }
        served = nil
        // A bluetoothd that has stopped must not delay the end.
        _ = try? await session.call(manager("UnregisterAgent", .objectPath(path)), timeout: .seconds(1))
        await session.unexport(number)
    }

    private func lost() {
        registration?.cancel()
        registration = nil
        for prompt in prompts.values { prompt.task.cancel() }
        prompts = [:]
    }

    /// Registers the agent with bluetoothd. Errors are logged: everything except pairing works without an agent.
    private func registerOnce() async {
        guard let capability = pairing.capability() else { return }
        do throws(DBusError) {
            let session = try await stack.openSession()
            try await export(session)
            let path = DBusValue.objectPath(self.path)
            do throws(DBusError) {
                _ = try await session.call(
                    manager("RegisterAgent", path, .string(capability.rawValue)), timeout: BlueZStack.promptly)
            } catch  where error.name == "org.bluez.Error.AlreadyExists" {}
            if pairing.isDefault {
                _ = try await session.call(manager("RequestDefaultAgent", path), timeout: BlueZStack.promptly)
            }
            await stack.untilPairable()
            if !Task.isCancelled { problem = nil }
        } catch {
            // It is no longer wanted, or begins again with the next bluetoothd.
            guard !Task.isCancelled else { return }
            problem = error
            logger.info("no agent could be registered, so pairing is not possible", metadata: ["error": "\(error)"])
        }
    }

    private func manager(_ method: String, _ arguments: DBusValue...) -> MethodCall {
        MethodCall(BlueZ.service, "/org/bluez", BlueZ.agentManager, method, arguments)
    }

    private func export(_ session: BusSession) async throws(DBusError) {
        guard served?.session !== session else { return }
        let object = ExportedObject(path: path, interface: Self.interface) { [weak self] call in
            await self?.answer(call) ?? .failure(Self.rejected)
        }
        served = (session, try await session.export(object))
    }

    private static let rejected = DBusError.remote("org.bluez.Error.Rejected", "refused")

    // MARK: Calls from bluetoothd

    private func answer(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        switch call.method {
        case "Release":
            logger.debug("bluetoothd has released the agent")
            return .success(MethodReply())
        case "Cancel":
            for agent in agents.all { await agent.cancelPrompts(of: ObjectIdentifier(self)) }
            return .success(MethodReply())
        default:
            guard let path = call.arguments.first?.string, let prompt = Self.prompt(call) else {
                return .failure(
                    .remote("org.freedesktop.DBus.Error.InvalidArgs", "the arguments are not as documented"))
            }
            let agent = agents.all.first { agent in agent.assumeIsolated { $0.hasAdapter(of: path) } } ?? self
            return await agent.answer(prompt, path, asked: ObjectIdentifier(self))
        }
    }

    /// Whether a device is on the adapter in use.
    private func hasAdapter(of path: String) -> Bool { onStack { $0.choice.includes(path) } }

    /// - Parameter asked: the agent that bluetoothd has asked.
    private func answer(
        _ prompt: PairingPrompt, _ path: String, asked: ObjectIdentifier
    ) async -> Result<MethodReply, DBusError> {
        // The prompt may arrive before the signal that adds the device.
        if objects.devices[path] == nil { try? await stack.fence() }
        guard let id = id(ofDevice: path) else { return .failure(Self.rejected) }
        logger.debug("bluetoothd asks", metadata: ["peripheral": "\(id)", "prompt": "\(prompt.name)"])
        lastToken += 1
        let token = lastToken
        let task = Task { [pairing] in await pairing.answer(id, prompt) }
        prompts[token] = (asked, task)
        lastPrompted = (id, asked)
        let answer = await task.value
        let isVoid = prompts.removeValue(forKey: token) == nil
        switch answer {
        case .accept: return .success(MethodReply())
        case .passkey(let passkey): return .success(MethodReply([.uint32(passkey.value)]))
        case .pinCode(let code): return .success(MethodReply([.string(code)]))
        case .refuse:
            if !isVoid, prompt.decidesPairing { await report(.refused(path)) }
            return .failure(Self.rejected)
        }
    }

    /// Cancels the open prompts of an agent, which bluetoothd no longer needs answered or shown.
    private func cancelPrompts(of asked: ObjectIdentifier) async {
        for (token, prompt) in prompts where prompt.asked == asked {
            prompt.task.cancel()
            prompts[token] = nil
        }
        if let lastPrompted, lastPrompted.asked == asked { await report(.ended(lastPrompted.id)) }
    }

    private static func prompt(_ call: IncomingCall) -> PairingPrompt? {
        let argument = call.arguments.dropFirst().first
        let passkey = argument?.integer.flatMap { UInt32(exactly: $0) }.flatMap { Passkey($0) }
        switch call.method {
        case "RequestPinCode": return .enterPINCode
        case "DisplayPinCode": return (argument?.string).map { .showPINCode($0) }
        case "RequestPasskey": return .enterPasskey
        case "DisplayPasskey":
            let entered = call.arguments.last?.integer ?? 0
            return passkey.map { .show($0, entered: min(max(entered, 0), 6)) }
        case "RequestConfirmation": return passkey.map { .confirm($0) }
        case "RequestAuthorization": return .authorizePairing
        case "AuthorizeService": return (argument?.string).flatMap { BluetoothUUID($0) }.map { .authorizeService($0) }
        default: return nil
        }
    }

    /// BlueZ's `doc/org.bluez.Agent.rst`.
    private static let interface = InterfaceDescription(
        "org.bluez.Agent1",
        .method("Release"),
        .method("RequestPinCode", takes: "o", returns: "s"),
        .method("DisplayPinCode", takes: "os"),
        .method("RequestPasskey", takes: "o", returns: "u"),
        .method("DisplayPasskey", takes: "ouq"),
        .method("RequestConfirmation", takes: "ou"),
        .method("RequestAuthorization", takes: "o"),
        .method("AuthorizeService", takes: "os"),
        .method("Cancel"))
}

extension PairingPrompt {
    /// Whether a refusal ends the pairing.
    fileprivate var decidesPairing: Bool {
        switch self {
        case .confirm, .enterPasskey, .enterPINCode, .authorizePairing: true
        case .show, .showPINCode, .authorizeService: false
        }
    }

    /// A name for the log, without the passkey or PIN code.
    fileprivate var name: String {
        switch self {
        case .confirm: "confirm a number"
        case .enterPasskey: "enter a passkey"
        case .show: "show a passkey"
        case .enterPINCode: "enter a PIN code"
        case .showPINCode: "show a PIN code"
        case .authorizePairing: "authorize the pairing"
        case .authorizeService: "authorize a service"
        }
    }
}
