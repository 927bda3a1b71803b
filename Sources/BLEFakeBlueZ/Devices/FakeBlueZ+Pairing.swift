public import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// An agent that a client of the fake daemon has registered.
struct FakeAgent {
    let owner: String
    let path: String
    let capability: IOCapability
}

/// Pairing on the bus: agents on one side, the radio's pairing on the other. The answers of `Pair` and their times are
/// those of BlueZ 5.66 (`pair_device` and later steps in its `src/device.c`). From 5.81 on, requests wait for the
/// pairing.
extension FakeBlueZ {
    // MARK: AgentManager1

    func agentManagerCall(_ call: IncomingCall) -> Result<MethodReply, DBusError> {
        let path = call.arguments.first?.string ?? ""
        let known = agents.firstIndex { $0.owner == call.sender }
        switch (call.method, known) {
        case ("RegisterAgent", nil):
            let name = call.arguments.last?.string ?? ""
            guard let capability = name.isEmpty ? .keyboardDisplay : IOCapability(rawValue: name) else {
                return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
            }
            agents.append(FakeAgent(owner: call.sender, path: path, capability: capability))
        case ("RegisterAgent", _):
            return .failure(.bluez("AlreadyExists", "Already Exists"))
        case (_, nil):
            return .failure(.bluez("DoesNotExist", "Does Not Exist"))
        case ("RequestDefaultAgent", let index?):
            var order = agents
            order.insert(order.remove(at: index), at: 0)
            agents = order
        case (_, let index?):
            agents.remove(at: index)
        }
        return .success(MethodReply())
    }

    /// Tells the kernel of the default agent, once it has carried out the earlier commands
    /// (`adapter_set_io_capability` in the daemon's `src/adapter.c`).
    func defaultAgentChanged() {
        let capability = agents.first?.capability
        // It compares with what the kernel has reported, which may be about to change.
        let setsPairable = isPairable != (capability != nil)
        let session = session
        Task {
            await waitWhileHanging("Set IO Capability")
            guard self.session === session else { return }
            onAll { $0.take(capability, setsPairable: setsPairable) }
        }
    }

    private func take(_ capability: IOCapability?, setsPairable: Bool) {
        if setsPairable {
            isPairable = capability != nil
            changed(adapterPath, BlueZ.adapter, ["Pairable": .boolean(isPairable)])
        }
        if let capability { kernelCapability = capability }
    }

    /// The device of the call that is being carried out, whose link a pairing that begins in it secures.
    @TaskLocal static var peer: Peripheral.ID?

    /// The capability for the pairing that begins; nil if there is no agent. For a pairing that a request has begun, it
    /// is that of the link; from 5.81 on, for one of `Pair`, too.
    var pairingCapability: IOCapability? {
        guard let agent = agent(for: Self.peer) else { return nil }
        if minorVersion < 81, Self.peer.flatMap({ pairings[$0] }) != nil { return agent.capability }
        return Self.peer.flatMap { devices[$0]?.linkCapability } ?? kernelCapability
    }

    /// The agent that is asked: that of the client that has called `Pair`, otherwise the default one.
    func agent(for id: Peripheral.ID?) -> FakeAgent? {
        let agents = first.or(self).assumeIsolated { $0.agents }
        let sender = id.flatMap { pairings[$0] }
        return agents.first { $0.owner == sender } ?? agents.first
    }

    /// The capabilities of the agents, that of the default one first.
    public var agentCapabilities: [IOCapability] { agents.map(\.capability) }

    /// The bus names of the agents' programs.
    public var agentOwners: [String] { agents.map(\.owner) }

    /// Asks the agent in the daemon's way, and returns its answer.
    func ask(_ id: Peripheral.ID, _ prompt: PairingPrompt) async -> PairingAnswer {
        guard let agent = agent(for: id), let session, let device = devices[id] else { return .refuse }
        func call(_ method: String, _ arguments: DBusValue...) -> MethodCall {
            MethodCall(agent.owner, agent.path, BlueZ.agent, method, arguments)
        }
        let path = DBusValue.objectPath(device.path)
        let request =
            switch prompt {
            case .confirm(let passkey): call("RequestConfirmation", path, .uint32(passkey.value))
            case .enterPasskey: call("RequestPasskey", path)
            case .show(let passkey, let entered):
                call("DisplayPasskey", path, .uint32(passkey.value), .uint16(UInt16(entered)))
            case .enterPINCode: call("RequestPinCode", path)
            case .showPINCode(let code): call("DisplayPinCode", path, .string(code))
            case .authorizePairing: call("RequestAuthorization", path)
            case .authorizeService(let service): call("AuthorizeService", path, .string(service.fullDescription))
            }
        if case .show = prompt {
            // The daemon does not wait for an answer. Here, the number is entered only once it is shown.
            _ = try? await session.call(request, timeout: timeouts.agent)
            return .accept
        }
        // Until the answer, too: the client may end the link before its refusal has arrived here.
        devices[id]?.isUnapproved = device.pairing == nil
        do throws(DBusError) {
            let reply = try await session.call(request, timeout: timeouts.agent)
            devices[id]?.isUnapproved = false
            switch reply.values.first {
            case .uint32(let value)?: return Passkey(value).map { .passkey($0) } ?? .refuse
            case .string(let code)?: return .pinCode(code)
            default: return .accept
            }
        } catch {
            if error.kind == .cancelled || error.kind == .timedOut {
                let cancel = call("Cancel")
                Task { try? await session.call(cancel, timeout: timeouts.agent) }
            }
            return .refuse
        }
    }

    // MARK: Device1

    func pair(_ id: Peripheral.ID, _ sender: String) async -> Result<MethodReply, DBusError> {
        guard let device = devices[id] else { return .failure(.bluez("Failed", "gone")) }
        guard device.pairing == nil, pairings[id] == nil else {
            return .failure(.bluez("InProgress", "In Progress"))
        }
        if device.isPaired { return .failure(.bluez("AlreadyExists", "Already Exists")) }
        // From now on: another call may come while the link is made.
        pairings[id] = sender
        if !device.isConnected, case .failure(let error) = await connect(id) {
            pairings[id] = nil
            return .failure(error)
        }
        // From 5.81 on (`bt_att_set_security` in `pair_device`).
        if minorVersion >= 81 { devices[id]?.isHeldBack = true }
        let task = Task { () async -> BLEError? in
            do throws(BLEError) {
                try await self.backend.pair(id)
                return nil
            } catch {
                return error
            }
        }
        devices[id]?.pairing = task
        let error = await task.value
        devices[id]?.pairing = nil
        if error == nil { openChannel(id) }
        pairings[id] = nil
        await publishPairing(id)
        return error.map { .failure(Self.answer(pairing: $0)) } ?? .success(MethodReply())
    }

    func cancelPairing(_ id: Peripheral.ID) -> Result<MethodReply, DBusError> {
        guard let pairing = devices[id]?.pairing else {
            return .failure(.bluez("DoesNotExist", "Does Not Exist"))
        }
        pairing.cancel()
        return .success(MethodReply())
    }

    private static func answer(pairing error: BLEError) -> DBusError {
        switch error.code {
        case .alreadyPaired: .bluez("AlreadyExists", "Already Paired")
        case .cancelled, .disconnected, .connectionCancelled, .bluetoothLost:
            .bluez("AuthenticationCanceled", "Authentication Canceled")
        case .pairingTimedOut: .bluez("AuthenticationTimeout", "Authentication Timeout")
        case .pairingRejected: .bluez("AuthenticationRejected", "Authentication Rejected")
        default: .bluez("AuthenticationFailed", "Authentication Failed")
        }
    }

    /// Signals that the device is paired, and its identity address.
    func publishPairing(_ id: Peripheral.ID) async {
        guard let device = devices[id], let state = try? await backend.pairingState(id),
            state.isPaired != device.isPaired
        else { return }
        devices[id]?.isPaired = state.isPaired
        if let identity = faults.identities[id] ?? (state.identity == id ? nil : state.identity.rawValue) {
            devices[id]?.identity = identity
            changed(device.path, BlueZ.device, ["Address": .string(identity)])
        }
        changed(
            device.path, BlueZ.device, ["Bonded": .boolean(state.isPaired), "Paired": .boolean(state.isPaired)])
    }

    /// Sets a property of a device.
    func set(_ id: Peripheral.ID, _ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        let name = call.arguments.dropFirst().first?.string ?? ""
        guard let device = devices[id], case .variant(.boolean(let value))? = call.arguments.last else {
            return .failure(.bus("InvalidSignature", "Invalid signature for '\(name)'"))
        }
        if name == "Trusted" { devices[id]?.isTrusted = value } else { devices[id]?.isBlocked = value }
        try? await backend.set(name == "Trusted" ? .trusted : .blocked, to: value, for: id)
        changed(device.path, BlueZ.device, [name: .boolean(value)])
        return .success(MethodReply())
    }

    // MARK: Adapter1

    func removeDevice(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        let path = call.arguments.first?.string
        guard let device = devices.values.first(where: { $0.path == path }) else {
            return .failure(.bluez("DoesNotExist", "Does Not Exist"))
        }
        await remove(device.id)
        return .success(MethodReply())
    }

    /// Removes a device, as when any client has called `RemoveDevice`. What waits for the device is not answered.
    public func remove(_ id: Peripheral.ID) async {
        devices[id]?.pairing?.cancel()
        try? await backend.unpair(id)
        // The radio may have removed it with its link.
        guard let device = devices[id] else { return }
        endWaits(id)
        removeAttributes(of: device)
        devices[id] = nil
        removed([(device.path, BlueZ.device)])
    }
}
