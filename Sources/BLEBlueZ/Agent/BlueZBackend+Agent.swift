internal import BLE
internal import DBus
internal import Logging

/// The pairing agent of this program: the object that bluetoothd calls for prompts during a pairing.
///
/// A program has one agent, which serves the `Pair` calls of its own bus connection. It is registered when a link is
/// first requested, and a default agent at the start. A program that only scans registers none, because BlueZ would use
/// it for pairings that no other agent handles. The registration lasts as long as bluetoothd runs, and is renewed after
/// a restart.
extension BlueZBackend {
    static let agentPath = "/org/swift_ble/agent"

    /// Registers the agent for a link that may pair. Returns when bluetoothd knows the agent, or the registration has
    /// failed.
    func wantAgent() async {
        isAgentWanted = true
        let registration = agentRegistration ?? Task { await self.registerAgent() }
        agentRegistration = registration
        await registration.value
        // The next request for a link tries again.
        if agentProblem != nil, agentRegistration == registration { agentRegistration = nil }
    }

    /// Registers the agent again after a restart of bluetoothd.
    func renewAgent() async {
        if isAgentWanted { await wantAgent() }
    }

    /// Registers the agent with bluetoothd. Errors are logged: everything except pairing works without an agent.
    private func registerAgent() async {
        guard let session, let pairing = context?.pairing, let capability = pairing.capability() else { return }
        do throws(DBusError) {
            try await exportAgent(session)
            let path = DBusValue.objectPath(Self.agentPath)
            do throws(DBusError) {
                _ = try await session.call(
                    agentManager("RegisterAgent", path, .string(capability.rawValue)), timeout: Self.promptly)
            } catch  where error.name == "org.bluez.Error.AlreadyExists" {}
            if pairing.isDefault {
                _ = try await session.call(agentManager("RequestDefaultAgent", path), timeout: Self.promptly)
            }
            agentProblem = nil
        } catch {
            agentProblem = error
            logger.info("no agent, so nothing can be paired with", metadata: ["error": "\(error)"])
        }
    }

    private func agentManager(_ method: String, _ arguments: DBusValue...) -> MethodCall {
        MethodCall(BlueZ.service, "/org/bluez", BlueZ.agentManager, method, arguments)
    }

    private func exportAgent(_ session: BusSession) async throws(DBusError) {
        guard agentSession !== session else { return }
        let object = ExportedObject(path: Self.agentPath, interface: Self.agentInterface) { [weak self] call in
            await self?.answer(call) ?? .failure(Self.rejected)
        }
        _ = try await session.export(object)
        agentSession = session
    }

    private static let rejected = DBusError.remote("org.bluez.Error.Rejected", "refused")

    // MARK: Calls from bluetoothd

    private func answer(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        switch call.method {
        case "Release":
            logger.debug("bluetoothd has released the agent")
            return .success(MethodReply())
        case "Cancel":
            cancelPrompts()
            return .success(MethodReply())
        default:
            guard let path = call.arguments.first?.string, let prompt = Self.prompt(call) else {
                return .failure(.remote("org.freedesktop.DBus.Error.InvalidArgs", "not as documented"))
            }
            return await answer(prompt, path)
        }
    }

    private func answer(_ prompt: PairingPrompt, _ path: String) async -> Result<MethodReply, DBusError> {
        // The prompt may arrive before the signal that adds the device.
        if tree.devices[path] == nil { try? await fence() }
        guard let pairing = context?.pairing, let id = id(ofDevice: path) else { return .failure(Self.rejected) }
        logger.debug("bluetoothd asks", metadata: ["peripheral": "\(id)", "prompt": "\(prompt.name)"])
        lastToken += 1
        let token = lastToken
        let task = Task { await pairing.answer(id, prompt) }
        prompts[token] = (path, task)
        lastPrompted = id
        let answer = await task.value
        let isVoid = prompts.removeValue(forKey: token) == nil
        switch answer {
        case .accept: return .success(MethodReply())
        case .passkey(let passkey): return .success(MethodReply([.uint32(passkey.value)]))
        case .pinCode(let code): return .success(MethodReply([.string(code)]))
        case .refuse:
            if !isVoid, prompt.decidesPairing { await pairingRefused(path) }
            return .failure(Self.rejected)
        }
    }

    /// Cancels the open prompts, which bluetoothd no longer needs answered or shown.
    private func cancelPrompts() {
        let open = prompts
        prompts = [:]
        for prompt in open.values { prompt.task.cancel() }
        if let lastPrompted { report(.pairingEnded(lastPrompted)) }
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
    private static let agentInterface = InterfaceDescription(
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
