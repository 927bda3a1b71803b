import BLE
import BLEDefinitions
import BLEFakeBlueZ
import BLESimulation

/// Which characteristic a command means.
extension FakeWorld {
    /// The characteristics of a type, or the one of them that "service", "handle" or "index" says.
    func handles(_ command: Command, _ peripheral: SimulatedPeripheral) async throws -> [UInt16] {
        let entry = try command.required("uuid")
        var key = CharacteristicKey(characteristic: try entry.characteristic())
        key.service = try command.object["service"]?.service()
        key.handle = try command.object["handle"].map { UInt16(try $0.integer(1...0xFFFF)) }
        let found = await peripheral.handles(of: key)
        guard !found.isEmpty else {
            throw entry.mistake("the peripheral has no such characteristic \(key.characteristic)")
        }
        guard let index = command.object["index"] else { return found }
        let number = try index.integer(1...0xFFFF)
        guard found.indices.contains(number - 1) else {
            throw index.mistake("the peripheral has \(found.count) of them")
        }
        return [found[number - 1]]
    }

    /// The key of a characteristic. Nil if the command names none.
    func key(_ command: Command) async throws -> CharacteristicKey? {
        guard let uuid = try command.object["uuid"]?.characteristic() else {
            if let other = ["service", "handle", "index"].compactMap({ command.object[$0] }).first {
                throw other.mistake("there is no \"uuid\"")
            }
            return nil
        }
        var key = CharacteristicKey(characteristic: uuid)
        key.service = try command.object["service"]?.service()
        key.handle = try command.object["handle"].map { UInt16(try $0.integer(1...0xFFFF)) }
        if let index = command.object["index"] {
            guard command.object["peripheral"] != nil else { throw index.mistake("there is no \"peripheral\"") }
            key.handle = try await handles(command, try await peripheral(command))[0]
        }
        return key
    }

    // MARK: Another program

    /// Has another program on the bus call a method.
    func callByOther(_ command: Command) async throws {
        let method = try command.required("method").choice(OtherProgram.Method.allCases.map { ($0.rawValue, $0) })
        let peripheral = try await peripheral(command)
        let adapter = try await adapter(command)
        var handle: UInt16?
        if method.isOfCharacteristic {
            let found = try await handles(command, peripheral)
            guard found.count == 1 else {
                throw try command.required("uuid").mistake(
                    "the peripheral has \(found.count) of them: name one with \"handle\" or \"index\"")
            }
            handle = found[0]
        }
        let program: OtherProgram
        if let otherProgram {
            program = otherProgram
        } else {
            program = try await OtherProgram(of: daemon)
            otherProgram = program
        }
        // bluetoothd knows it by its present address or, with a bond, by its identity address.
        let address = await peripheral.address
        do throws(BLEError) {
            try await program.call(method, of: address, handle: handle, adapter: adapter.name)
        } catch {
            guard error.code == .peripheralNotFound, address != peripheral.id else { throw error }
            try await program.call(method, of: peripheral.id, handle: handle, adapter: adapter.name)
        }
    }

    // MARK: Adapters

    /// Plugs in another adapter.
    func attach(_ command: Command) async throws { await daemon.addAdapter(try await newName(command, "adapter")) }

    /// The name of an adapter that is not there and never was.
    private func newName(_ command: Command, _ key: String) async throws -> String {
        let entry = try command.required(key)
        let name = try entry.string()
        guard name.hasPrefix("hci"), let number = Int(name.dropFirst(3)), (0...99).contains(number),
            name == "hci\(number)"
        else { throw entry.mistake("not the name of an adapter, such as hci1") }
        guard await daemon.adapter(name) == nil else { throw entry.mistake("there is an adapter \(name) already") }
        return name
    }

    /// Takes an adapter out, or plugs it in again, also under another name.
    func plug(_ command: Command) async throws {
        let adapter = try await adapter(command)
        guard command.object["as"] != nil else {
            if let name = returned[adapter.name], try command.isOn {
                throw DefinitionError(message: "the adapter is \(name) now")
            }
            return await adapter.setPresent(try command.isOn)
        }
        let newName = try await newName(command, "as")
        guard try command.isOn, await !adapter.isPluggedIn, returned[adapter.name] == nil else {
            throw DefinitionError(message: "only an adapter that was taken out comes back under another name")
        }
        returned[adapter.name] = newName
        await daemon.returnAdapter(adapter.name, as: newName)
    }

    // MARK: The air

    /// Gives a peripheral another private address. Returns it.
    func rotate(_ peripheral: SimulatedPeripheral, _ command: Command) async throws -> JSON {
        if let every = command.object["every"] {
            let seconds = try every.number(0...86_400)
            await peripheral.rotateAddress(every: seconds > 0 ? .seconds(seconds) : nil)
            guard seconds > 0 else { return .object(["address": .string(await peripheral.address.rawValue)]) }
        }
        return .object(["address": .string(await peripheral.rotateAddress().rawValue)])
    }

    /// What is between a peripheral and its centrals.
    func changeAir(_ peripheral: SimulatedPeripheral, _ command: Command) async throws {
        switch command.name {
        case "play":
            let given = ["rssi", "meters", "loss"].compactMap { name in command.object[name].map { (name, $0) } }
            guard given.count == 1, let (name, entry) = given.first else {
                throw DefinitionError(message: "one of \"rssi\", \"meters\" and \"loss\" is needed")
            }
            switch name {
            case "rssi":
                await peripheral.play(try Self.steps(entry, -127...20).map { ($0.seconds, Int($0.value)) })
            case "meters":
                await peripheral.play(meters: try Self.steps(entry, 0.01...10_000).map { ($0.seconds, $0.value) })
            default:
                await peripheral.play(
                    loss: try Self.steps(entry, 0...1).map { ($0.seconds, $0.value) },
                    seed: UInt64(try command.object["seed"]?.integer(0...Int.max) ?? 1))
            }
        case "interval":
            guard let entry = command.object["seconds"] else { return await peripheral.setConnectionInterval(nil) }
            let interval = try entry.number(0.0075...4)
            // As the kernel's is, but longer than two intervals.
            let usual = max(0.42, interval * 2 + 0.1)
            let timeout = try command.object["timeout"]?.number(0.1...32) ?? usual
            guard timeout > interval * 2 else {
                throw try command.required("timeout").mistake("not longer than two intervals")
            }
            await peripheral.setConnectionInterval(.seconds(interval), supervisionTimeout: .seconds(timeout))
        default:
            let definition = try command.object["definition"].map { try DefinitionFile($0).definition }
            await peripheral.setScanResponse(definition?.advertisement)
        }
    }

    /// The steps of a script: lists of a time in seconds from now, and a value.
    private static func steps(
        _ entry: Entry, _ range: ClosedRange<Double>
    ) throws -> [(seconds: Double, value: Double)] {
        try entry.array().map { step in
            let pair = try step.array()
            guard pair.count == 2 else { throw step.mistake("not a time in seconds and a value") }
            return (try pair[0].number(0...1_000_000), try pair[1].number(range))
        }
    }
}
