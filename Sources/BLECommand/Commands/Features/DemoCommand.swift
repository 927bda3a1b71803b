import BLEDefinitions

#if DeviceCommands
    import ArgumentParser
    import BLE
    import BLEFeatures
    import BLESimulation
    import SmartLock

    struct DemoCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "demo", abstract: "Show what programs can do, on a simulated radio.",
            subcommands: [LockDemoCommand.self])
    }

    struct LockDemoCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "lock", abstract: "Use a smart lock with its own commands, some of them encrypted.",
            discussion: """
                Finds and sets up a simulated lock, pairs with it, loses the link during a command and connects again. \
                The lock and its commands are the example in Docs/Examples/SmartLock.
                """)

        @Flag(help: "JSON Lines instead of text.")
        var json = false

        @Flag(name: .shortAndLong, help: "Log to standard error; twice for more detail.")
        var verbose: Int

        func run() async throws {
            let logger = CommonOptions.logger(verbose: verbose)
            let radio = SimulatedRadio(clock: CommandClock.current, logger: logger)
            let configuration = Central.Configuration(clock: CommandClock.current, logger: logger)
            try await Session.run(Output(json: json), outage: .ends) {
                (try await Central(backend: .simulated(radio), configuration: configuration), nil)
            } work: { central, output in
                let lock = SimulatedLock()
                let peripheral = await radio.add(lock.definition)
                let devices = Devices(central, configuration: try .smartLock())
                try await LockDemo(lock: lock, peripheral: peripheral, devices: devices, output: output).run()
            }
        }
    }

    /// A demonstration of the lock, with one line for each step.
    private struct LockDemo {
        let lock: SimulatedLock
        let peripheral: SimulatedPeripheral
        let devices: Devices
        let output: Output

        func run() async throws {
            let found = try await find()
            let device = try await devices.connect(to: found)
            try show("connected", device.serial, "connected to \(device.serial)")
            try await changeSettings(device.feature())
            try await joinNetwork(device.feature())
            try await openDoor(device.feature())
            try await loseLink(device)
            let again = try await devices.connect(serial: device.serial)
            try show("connectedAgain", again.serial, "connected again")
            let access: LockAccess = try again.feature()
            try await access.setState(.locked)
            try show("state", "\(try await access.state())", "the door is locked, with the key of the pairing before")
            try await again.disconnect()
            try show("disconnected", again.serial, "disconnected")
        }

        private func find() async throws -> DiscoveredDevice {
            for try await list in devices.nearby() {
                guard let found = list.first else { continue }
                try show("found", found.serial, "found \(found.name ?? "a lock"), serial number \(found.serial)")
                return found
            }
            throw BLEError(.peripheralNotFound, "the lock was not found")
        }

        private func changeSettings(_ settings: LockSettings) async throws {
            let name = try await settings.name()
            try show("name", name, "it is called \(name)")
            try await settings.setName("Front door")
            let newName = try await settings.name()
            try show("name", newName, "and now \(newName)")
            try await settings.setAutoLock(seconds: 30)
            let seconds = try await settings.autoLock()
            try show(
                "autoLock", seconds.map { "\($0)" }, "it locks itself after \(seconds.map { "\($0) s" } ?? "no time")")
        }

        private func joinNetwork(_ network: LockNetwork) async throws {
            var updates = await network.updates().makeAsyncIterator()
            for name in try await network.startListening() { try show("network", name, "it knows the network \(name)") }
            try await lock.findNetwork("Attic")
            let update = try await updates.next()
            try show("network", update, "it finds the network \(update ?? "")")
            try await network.stopListening()
            try await network.join("Attic", password: "under the roof")
            try show("joined", "Attic", "it has joined Attic")
        }

        private func openDoor(_ access: LockAccess) async throws {
            try await access.pair()
            try show("paired", nil, "paired: commands can be encrypted")
            try await access.setState(.unlocked)
            try show("unlocked", nil, "unlocked")
            let state = try await access.state()
            try show("state", "\(state)", "the door is \(state)")
            try await access.setState(.locked)
            try await access.setPassword("sesame")
            do {
                try await access.unlockAsGuest(password: "please")
            } catch LockError.wrongPassword {
                try show("guestRefused", nil, "a guest with a wrong password is refused")
            }
            try await access.unlockAsGuest(password: "sesame")
            try show("guestUnlocked", nil, "a guest with the right password is not")
        }

        /// Loses the link while the lock processes a command.
        private func loseLink(_ device: Device) async throws {
            let access: LockAccess = try device.feature()
            await lock.hold(at: .reply)
            async let state = access.state()
            while await !lock.isHolding { await Task.yield() }
            await peripheral.dropLink()
            do {
                _ = try await state
            } catch let error as BLEError where error.code == .disconnected {
                try show("linkLost", error.disconnectReason?.rawValue, "the link is lost in the middle of a command")
            }
            await lock.release()
        }

        private func show(_ event: String, _ value: String?, _ text: String) throws {
            try output.line(
                .object(["event": .string(event), "value": .optional(value) { .string($0) }]),
                "\(output.paint(event.padded(to: 14), event == "linkLost" ? .red : .green))  \(text)")
        }
    }
#endif
