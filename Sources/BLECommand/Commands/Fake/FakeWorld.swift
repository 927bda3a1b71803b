import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions
import BLEFakeBlueZ
import BLESimulation
import FoundationEssentials

/// A fake bluetoothd with its radio, and what can be done to it by a line of JSON.
actor FakeWorld {
    private let radio: SimulatedRadio
    let daemon: FakeBlueZ
    /// In the order in which they came.
    private var peripherals: [(name: String?, peripheral: SimulatedPeripheral)] = []
    private var faults: [Int: SimulatedFault] = [:]
    var otherProgram: OtherProgram?
    /// The adapters that have come back under other names.
    var returned: [String: String] = [:]
    /// Ends when the last of the commands has been carried out that are carried out one after the other: those that
    /// begin and end what lasts. The others let go on what these may wait for.
    private var last: Task<Void, Never>?
    private static let ordered: Set<String> = ["add", "remove", "kill", "start", "power", "plug", "block", "attach"]

    init(radio: SimulatedRadio, daemon: FakeBlueZ) { (self.radio, self.daemon) = (radio, daemon) }

    func fill(with peripherals: [FakePeripheral]) async throws {
        for peripheral in peripherals { try await add(peripheral) }
    }

    @discardableResult
    private func add(_ new: FakePeripheral) async throws -> SimulatedPeripheral {
        guard new.definition.advertisement.localName?.utf8.contains(0) != true else {
            throw ValidationError("A name cannot have a zero byte.")
        }
        guard let peripheral = await radio.addUnlessTaken(new.definition, pairing: new.pairing) else {
            throw ValidationError("There are two peripherals with the address \(new.definition.address ?? "").")
        }
        peripherals.append((new.definition.advertisement.localName, peripheral))
        return peripheral
    }

    /// The keys of each command, besides "do".
    private static let keys: [String: [String]] = [
        "state": [],
        "add": ["kind", "definition", "name", "address", "rssi", "pairing"], "remove": ["peripheral"],
        "value": ["peripheral", "value", "text"] + characteristic, "rssi": ["peripheral", "rssi"],
        "advertising": ["peripheral", "on"], "links": ["peripheral", "on"], "drop": ["peripheral"],
        "services": ["peripheral", "definition"], "unbond": ["peripheral"],
        "disturb": [
            "peripheral", "from", "event", "effect", "seconds", "att", "next", "nth", "probability", "seed",
        ] + characteristic,
        "release": ["fault"], "calm": ["peripheral"],
        "refuse": ["method", "error", "message", "count"], "hang": ["method"], "answer": [],
        "deny": ["client"], "allow": ["client"],
        "kill": [], "start": [], "power": ["on", "adapter"], "plug": ["on", "adapter", "as"],
        "block": ["on", "adapter"], "attach": ["adapter"],
        "rotate": ["peripheral", "every"], "play": ["peripheral", "rssi", "meters", "loss", "seed"],
        "interval": ["peripheral", "seconds", "timeout"], "scan-response": ["peripheral", "definition"],
        "other": ["peripheral", "method", "adapter"] + characteristic, "leave": [],
    ]
    /// The keys that say which characteristic is meant.
    private static let characteristic = ["uuid", "service", "handle", "index"]

    /// Carries out a command, after the earlier ones. Throws ``Entry/Mistake`` for one that is wrong.
    func carryOut(_ line: String) async throws -> JSON {
        guard let entry = try? Entry(text: Data(line.utf8)), case .object(let keys) = entry.json,
            case .string(let name)? = keys["do"], Self.ordered.contains(name)
        else { return try await carryOutNow(line) }
        let former = last
        let task = Task {
            await former?.value
            return try await carryOutNow(line)
        }
        last = Task { _ = try? await task.value }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func carryOutNow(_ line: String) async throws -> JSON {
        let entry = try Entry(text: Data(line.utf8))
        guard let first = try entry.entries().first(where: { $0.0 == "do" })?.1 else {
            throw entry.mistake("there is no \"do\"")
        }
        let name = try first.string()
        guard let keys = Self.keys[name] else {
            let meant = Suggestion.nearest(to: name, in: Self.keys.keys.sorted()).map { "; did you mean \"\($0)\"?" }
            throw first.mistake("there is no \"\(name.excerpt)\"" + (meant ?? ""))
        }
        let command = Command(name: name, object: try entry.object(keys + ["do"]))
        do {
            return try await carryOut(command)
        } catch let mistake as DefinitionError {
            throw mistake
        } catch let error as ValidationError {
            throw DefinitionError(message: error.message)
        } catch let error as BLEError {
            throw DefinitionError(message: error.message)
        } catch {
            throw DefinitionError(message: "\(error)")
        }
    }

    /// A method of bluetoothd.
    private func method(_ command: Command) throws -> String {
        let entry = try command.required("method")
        let name = try entry.string()
        guard FakeBlueZ.methods.contains(name) else {
            let meant = Suggestion.nearest(to: name, in: FakeBlueZ.methods.sorted()).map { "; did you mean \"\($0)\"?" }
            throw entry.mistake("bluetoothd has no method \"\(name.excerpt)\"" + (meant ?? ""))
        }
        return name
    }

    struct Command {
        let name: String
        let object: [String: Entry]

        func required(_ key: String) throws -> Entry { try object.required(key, in: Entry.Place()) }
        var isOn: Bool { get throws { try required("on").boolean() } }
    }

    private func carryOut(_ command: Command) async throws -> JSON {
        switch command.name {
        case "state": return await state()
        case "add": return .object(["id": .string(try await add(try newPeripheral(command)).id.rawValue)])
        case "disturb": return .object(["fault": .int(try await disturb(command))])
        case "release": try await release(try command.required("fault"))
        case "calm": try await removeFaults(command)
        case "refuse":
            try await daemon.refuse(
                try method(command), with: try command.object["error"]?.string() ?? "org.bluez.Error.Failed",
                try command.object["message"]?.string() ?? "Failed",
                count: try command.object["count"]?.integer(1...1_000_000) ?? 1)
        case "hang": await daemon.hang(try method(command))
        case "answer": await daemon.release()
        case "deny": try await daemon.deny(try command.object["client"]?.string())
        case "allow": try await daemon.allow(try command.object["client"]?.string())
        case "kill":
            guard await daemon.isRunning else { throw DefinitionError(message: "the daemon is not running") }
            await daemon.kill()
        case "start":
            guard await !daemon.isRunning else { throw DefinitionError(message: "the daemon is running") }
            try await daemon.start()
        case "power": await (try await adapter(command)).setPowered(try command.isOn)
        case "plug": try await plug(command)
        case "attach": try await attach(command)
        case "block": await (try await adapter(command)).setBlocked(try command.isOn)
        case "other": try await callByOther(command)
        case "leave":
            let program = otherProgram
            otherProgram = nil
            await program?.leave()
        case "rotate": return try await rotate(try await peripheral(command), command)
        default: try await change(try await peripheral(command), command)
        }
        return .object([:])
    }

    /// What is done to one peripheral.
    private func change(_ peripheral: SimulatedPeripheral, _ command: Command) async throws {
        switch command.name {
        case "remove", "services":
            guard peripherals.contains(where: { $0.peripheral.id == peripheral.id }) else {
                throw DefinitionError(message: "a program serves the peripheral, and only the program can change that")
            }
            if command.name == "services" {
                let definition = try DefinitionFile(try command.required("definition")).definition
                return await peripheral.setServices(definition.services)
            }
            await peripheral.remove()
            peripherals.removeAll { $0.peripheral.id == peripheral.id }
        case "value":
            let value =
                try command.object["text"].map { Array(try $0.string().utf8) } ?? command.required("value").bytes()
            for handle in try await handles(command, peripheral) {
                let uuid = try command.required("uuid").characteristic()
                await peripheral.notify(value, from: CharacteristicKey(characteristic: uuid, handle: handle))
            }
        case "rssi": await peripheral.play([(0, try command.required("rssi").integer(-127...20))])
        case "advertising": await peripheral.setAdvertising(try command.isOn)
        case "links": await peripheral.setAcceptsLinks(try command.isOn)
        case "unbond": await peripheral.loseBond()
        case "play", "interval", "scan-response": try await changeAir(peripheral, command)
        default: await peripheral.dropLink()
        }
    }

    private func newPeripheral(_ command: Command) throws -> FakePeripheral {
        let name = try command.object["name"]?.string()
        var definition: PeripheralDefinition
        if let entry = command.object["definition"] {
            definition = try DefinitionFile(entry).definition
            definition.advertisement.localName = name ?? definition.advertisement.localName
        } else {
            guard let kind = command.object["kind"] else {
                throw DefinitionError(message: "there is neither a \"kind\" nor a \"definition\"")
            }
            let known = try kind.choice(ServedName.allCases.map { ($0.rawValue, $0) })
            definition = known.definition(name: name ?? known.defaultName)
        }
        var new = FakePeripheral(
            definition, pairing: try command.object["pairing"]?.choice(FakePeripheral.pairings) ?? .justWorks)
        if let address = command.object["address"] { try new.set(address: try address.string()) }
        if let rssi = command.object["rssi"] { new.definition.advertisement.rssi = try rssi.integer(-127...20) }
        return new
    }

    /// The peripherals, with those that programs serve.
    private func all() async -> [(name: String?, peripheral: SimulatedPeripheral, isServed: Bool)] {
        var all = peripherals.map { (name: $0.name, peripheral: $0.peripheral, isServed: false) }
        for served in await radio.hostedPeripherals where await served.isAdvertisingOrConnected {
            all.append((name: await served.advertisedName, peripheral: served, isServed: true))
        }
        return all
    }

    /// The peripheral that a command names, by its address or its name.
    func peripheral(_ command: Command) async throws -> SimulatedPeripheral {
        let entry = try command.required("peripheral")
        let name = try entry.string()
        let found = await all().filter { $0.name == name || $0.peripheral.id.rawValue == name.uppercased() }
        guard let first = found.first else { throw entry.mistake("there is no peripheral \"\(name.excerpt)\"") }
        guard found.count == 1 else { throw entry.mistake("several peripherals are called \"\(name.excerpt)\"") }
        return first.peripheral
    }

    /// The adapter that a command names; by default, the first.
    func adapter(_ command: Command) async throws -> FakeBlueZ {
        guard let entry = command.object["adapter"] else { return daemon }
        let name = try entry.string()
        guard let adapter = await daemon.adapter(name) else { throw entry.mistake("there is no \(name.excerpt)") }
        return adapter
    }

    private func state() async -> JSON {
        var list: [JSON] = []
        for (name, peripheral, isServed) in await all() {
            list.append(
                .object([
                    "id": .string(peripheral.id.rawValue), "name": .optional(name),
                    "isConnected": .bool(await peripheral.isConnected), "isPaired": .bool(await peripheral.isPaired),
                    "isServed": .bool(isServed),
                ]))
        }
        return .object([
            "peripherals": .array(list), "isRunning": .bool(await daemon.isRunning),
            "isDiscovering": .bool(await daemon.discoveringAdapters > 0),
            "calls": .object(await daemon.calls.mapValues { .int($0) }),
        ])
    }

    // MARK: Faults

    private static let events: [(String, SimulatedEvent)] = [
        ("scan", .scan), ("advertisement", .advertisement), ("connect", .connect), ("discover", .discover),
        ("read", .read), ("write", .write), ("subscribe", .subscribe), ("notify", .notify), ("indicate", .indicate),
        ("confirm", .confirm), ("pair", .pair), ("disconnect", .disconnect), ("register", .register),
        ("advertise", .advertise), ("request", .request),
    ]

    private func disturb(_ command: Command) async throws -> Int {
        let target: any SimulatedDisturbance =
            command.object["peripheral"] == nil ? radio : try await peripheral(command)
        let event = try await event(command)
        let occurrence = try occurrence(command)
        let effect = try command.required("effect")
        let fault: SimulatedFault
        switch try effect.string() {
        case "delay":
            fault = await target.delay(
                event, occurrence, by: .seconds(try command.required("seconds").number(0...86_400)))
        case "fail":
            if let att = command.object["att"] {
                fault = await target.fail(event, occurrence, with: ATTError(rawValue: UInt8(try att.integer(1...255))))
            } else {
                fault = await target.fail(event, occurrence)
            }
        case "hold": fault = await target.hold(event, occurrence)
        case "ignore": fault = await target.ignore(event, occurrence)
        case "duplicate": fault = await target.duplicate(event, occurrence)
        case "drop-before": fault = await target.dropLink(before: event, occurrence)
        case "drop-after": fault = await target.dropLink(after: event, occurrence)
        default:
            throw effect.mistake("not one of: delay, fail, hold, ignore, duplicate, drop-before, drop-after")
        }
        let number = faults.count + 1
        faults[number] = fault
        return number
    }

    private func event(_ command: Command) async throws -> SimulatedEvent {
        let event = try await eventOfAny(command)
        guard let from = command.object["from"] else { return event }
        let central = DeviceID(rawValue: try from.string())
        guard central.isAddress else { throw from.mistake("not an address, such as CE:00:00:00:00:01") }
        guard ![.advertisement, .register, .advertise].contains(event) else {
            throw from.mistake("the event is not that of a central")
        }
        return event.from(central)
    }

    /// The event, of any central.
    private func eventOfAny(_ command: Command) async throws -> SimulatedEvent {
        let entry = try command.required("event")
        let event = try entry.choice(Self.events)
        guard let key = try await key(command) else { return event }
        var characteristic = Characteristic<[UInt8]>(key.characteristic)
        characteristic.key = key
        switch event {
        case .read: return .read(of: characteristic)
        case .write: return .write(of: characteristic)
        case .subscribe: return .subscribe(to: characteristic)
        case .notify: return .notify(from: characteristic)
        case .indicate: return .indicate(from: characteristic)
        case .confirm: return .confirm(of: characteristic)
        case .request: return .request(for: characteristic)
        default: throw entry.mistake("has no characteristic")
        }
    }

    private func occurrence(_ command: Command) throws -> SimulatedOccurrence {
        let given = ["next", "nth", "probability"].filter { command.object[$0] != nil }
        guard given.count < 2 else {
            throw DefinitionError(message: "\"\(given[0])\" and \"\(given[1])\" cannot be combined")
        }
        if let count = command.object["next"] { return .next(try count.integer(1...Int(Int32.max))) }
        if let number = command.object["nth"] { return .nth(try number.integer(1...Int(Int32.max))) }
        guard let probability = command.object["probability"] else { return .always }
        return .probability(
            try probability.number(0...1), seed: UInt64(try command.object["seed"]?.integer(0...Int.max) ?? 1))
    }

    private func release(_ entry: Entry) async throws {
        guard let fault = faults[try entry.integer(1...Int(Int32.max))] else { throw entry.mistake("no such fault") }
        await fault.release()
    }

    private func removeFaults(_ command: Command) async throws {
        if command.object["peripheral"] == nil {
            await radio.removeFaults()
        } else {
            await (try await peripheral(command)).removeFaults()
        }
    }
}
