import BLE
import BLEDefinitions
import Synchronization

/// The commands that come from the broker.
extension Gateway {
    /// The maximum numbers of commands that wait or run, for one device and of all devices with commands.
    private static let commandLimit = 8
    private static let commandedDeviceLimit = 64

    func takeCommand(_ message: ReceivedMessage, _ device: String, _ group: inout DiscardingTaskGroup) {
        var message = message
        // Here, because a task that is cancelled reads no JSON.
        message.commandID = DeviceCommand.id(message.payload)
        // A retained command would be performed again after each connection. A device that is not listed here may be
        // that of another gateway.
        guard !message.isRetained, !message.payload.isEmpty, let id = peripheral(device),
            state.withLock({ state in
                let isListed = list.peripheral(device) != nil
                return state.table.performsCommands(device, isListed: isListed, at: elapsed())
            })
        else { return }
        if (try? DeviceCommand(message.payload))?.isSubscription == true {
            return takeSubscription(message, device, id, &group)
        }
        let place = state.withLock { state -> Int? in
            guard state.commands.count < Self.commandedDeviceLimit || state.commands[device] != nil,
                state.commands[device, default: []].count < Self.commandLimit
            else { return nil }
            state.commands[device, default: []].append(message)
            return state.commands[device]?.count
        }
        guard let place else {
            return answer(message, device, .failure(BLEError(.busy, "too many commands wait")))
        }
        guard place == 1 else { return }
        group.addTask {
            var next: ReceivedMessage? = message
            while let message = next {
                self.answer(message, device, await self.perform(message, on: id, of: device))
                next = self.state.withLock { state in
                    state.commands[device]?.removeFirst()
                    if state.commands[device]?.isEmpty == true { state.commands[device] = nil }
                    return state.commands[device]?.first
                }
            }
        }
    }

    /// Takes a command that goes on for some time, while others for its device are performed.
    private func takeSubscription(
        _ message: ReceivedMessage, _ device: String, _ id: Peripheral.ID, _ group: inout DiscardingTaskGroup
    ) {
        let hasRoom = state.withLock { state in
            guard state.subscriptions.count < Self.commandedDeviceLimit || state.subscriptions[device] != nil,
                state.subscriptions[device, default: 0] < Self.commandLimit
            else { return false }
            state.subscriptions[device, default: 0] += 1
            return true
        }
        guard hasRoom else {
            return answer(message, device, .failure(BLEError(.busy, "too many subscriptions run")))
        }
        group.addTask {
            self.answer(message, device, await self.perform(message, on: id, of: device))
            self.state.withLock { state in
                let rest = state.subscriptions[device, default: 1] - 1
                state.subscriptions[device] = rest == 0 ? nil : rest
            }
        }
    }

    private func perform(_ message: ReceivedMessage, on id: Peripheral.ID, of device: String) async
        -> Result<[String: JSON], BLEError>
    {
        do {
            let command = try DeviceCommand(message.payload)
            guard let central = state.withLock({ $0.central }) else {
                throw BLEError(.bluetoothUnavailable, "Bluetooth is not available yet")
            }
            let (clock, entry) = (clock, list.entry(at: id) ?? state.withLock { $0.table.devices[device]?.entry })
            return .success(
                try await central.peripheral(id).withConnection { peripheral in
                    try await command.perform(on: peripheral, entry, clock: clock) { self.answer(message, device, $0) }
                })
        } catch {
            return .failure(error as? BLEError ?? BLEError(.failed, "\(error)"))
        }
    }

    /// Returns the peripheral of a listed device: one with a listed address, or one that has been heard.
    func peripheral(_ device: String) -> Peripheral.ID? {
        list.peripheral(device) ?? state.withLock { $0.table.peripheral(device) }
    }

    private func answer(_ message: ReceivedMessage, _ device: String, _ result: Result<[String: JSON], BLEError>) {
        var object: [String: JSON]
        switch result {
        case .success(let values):
            object = values
            object["ok"] = true
        case .failure(let error):
            object = ["ok": false, "error": .string("\(error.code)"), "message": .string(error.message)]
            if let remedy = error.remedy { object["remedy"] = .string(remedy) }
        }
        answer(message, device, object)
    }

    private func answer(_ message: ReceivedMessage, _ device: String, _ content: [String: JSON]) {
        var object = content
        if let id = message.commandID { object["id"] = .string(id) }
        let wanted = message.responseTopic.flatMap { topics.isOwn($0) ? nil : $0 }
        broker.publish(
            GatewayMessage(
                topic: wanted ?? topics.result(device), payload: JSON.object(object).text,
                isRetained: false, correlation: message.correlation))
    }
}
