import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

/// The client against devices that answer as a test says.
@Suite(.hangLimit, .tracesFailures) struct ClientTests {
    private func client(
        _ configuration: FirmwareClient.Configuration = .init(), world: SimulatedWorld,
        answer: @escaping @Sendable (SMPFrame) async -> [[UInt8]]
    ) async throws -> (client: FirmwareClient, device: ScriptedDevice, grip: SimulatedPeripheral) {
        let device = ScriptedDevice(answer)
        let (peripheral, grip) = try await world.add(device.definition)
        return (FirmwareClient(peripheral, configuration: configuration), device, grip)
    }

    @Test func `requests and responses are those of the Python package smp`() async throws {
        let world = try await SimulatedWorld()
        let names = Vectors.requests.map(\.key)
        let device = ScriptedDevice { request in
            let name = names[Int(request.header.sequence)]
            let other = [
                "forced reset": "reset", "set date and time": "reset", "test": "image slots", "confirm": "image slots",
            ]
            guard name != "bootloader mode" else { return [request.response(["mode": 3])] }
            guard name != "set date and time" else { return [request.response([:])] }
            var bytes = request.response(vector: Vectors.bytes(Vectors.responses, other[name] ?? name))
            // The operation and the command, which differ where another vector is used.
            (bytes[0], bytes[7]) = (request.response([:])[0], request.header.command.id)
            return [bytes]
        }
        let (peripheral, _) = try await world.add(device.definition)
        let client = FirmwareClient(peripheral)
        let hash = Array(UInt8(0)..<32)
        #expect(try await client.echo("hello") == "hello")
        #expect(try await client.parameters() == ManagementParameters(bufferSize: 1024, bufferCount: 4))
        try await client.reset()
        try await client.reset(isForced: true)
        #expect(try await client.dateTime() == "2026-11-27T06:56:24")
        try await client.setDateTime("2026-11-27T06:56:24")
        #expect(try await client.bootloader() == "MCUboot")
        #expect(try await client.bootloaderMode() == .swapWithoutScratch)
        #expect(try await client.applicationInfo(format: "sv") == "Zephyr")
        let slots = [ImageSlot(slot: 0, version: "1.2.3", hash: hash, isConfirmed: true, isActive: true)]
        #expect(try await client.imageSlots() == slots)
        #expect(try await client.test(hash: hash) == slots)
        #expect(try await client.confirm() == slots)
        try await client.erase()
        let result = try await client.execute(["kernel", "uptime"])
        #expect(result == FirmwareClient.ShellResult(output: "Uptime: 5 ms", returnCode: -22))
        #expect(try await client.fileLength("/lfs/a") == 300)
        #expect(try await client.fileHash("/lfs/a", .crc32, length: 300) == .crc32(0xDEAD_BEEF))
        #expect(try await client.download("/lfs/a") == Array(0x40..<0x60))
        // smp sends the number 1, of which Zephyr does not take notice.
        let expected = Vectors.requests.map {
            $0.key == "forced reset" ? String($0.value.dropLast(2)) + "f5" : $0.value
        }
        #expect(device.requests.value.map { Hex.string($0.bytes) } == expected)
    }

    @Test func `a call right after the end of the link connects and subscribes again`() async throws {
        let world = try await SimulatedWorld()
        let (client, device, _) = try await client(world: world) { [$0.response(["r": .text("")])] }
        for number in 1...20 {
            _ = try await client.echo("")
            try await client.peripheral.disconnect()
            _ = try await client.echo("")
            #expect(device.requests.value.count == 2 * number)
        }
    }

    @Test func `a call ends with a result that arrives before it waits for it`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(ScriptedDevice { _ in [] }.definition)
        // Tasks that prefer an executor let others run wherever they enter a function of an actor.
        await Task(executorPreference: world.radio.taskExecutor) {
            for steps in 0..<30 {
                let client = FirmwareClient(peripheral)
                let call = Task { try await client.echo("") }
                for _ in 0..<steps { await Task.yield() }
                await client.close()
                await #expect(throws: BLEError.self) { try await call.value }
            }
        }.value
    }

    @Test func `errors of both versions are reported with their meaning`() async throws {
        let world = try await SimulatedWorld()
        let answers = SharedValue(["version 1", "version 2"])
        let (client, _, _) = try await client(world: world) { request in
            let name = answers.change { $0.removeFirst() }
            var bytes = request.response(vector: Vectors.bytes(Vectors.errors, name))
            bytes.replaceSubrange(4..<6, with: [0, 0])
            bytes[7] = 0
            return [bytes]
        }
        let first = await expectError(.managementFailed) { try await client.echo("") }
        #expect(first?.managementFailure == SMPFailure(.outOfMemory, reason: "no"))
        #expect(first?.message.contains("not enough memory (error 2): no") == true)
        #expect(first?.peripheral == client.peripheral.id)
        let second = await expectError(.managementFailed) { try await client.echo("") }
        #expect(second?.managementFailure == SMPFailure(group: .image, code: 30))
        #expect(second?.message.contains("the image is too large for the slot") == true)
    }

    @Test func `a device for which version 2 is too new is asked in version 1`() async throws {
        let world = try await SimulatedWorld()
        let (client, device, _) = try await client(world: world) { request in
            guard request.header.version == .one else { return [request.response(["rc": 13], version: .one)] }
            return [request.response(["r": request.fields["d"]!], version: .one)]
        }
        #expect(try await client.echo("a") == "a")
        #expect(try await client.echo("b") == "b")
        #expect(device.requests.value.map(\.header.version) == [.two, .one, .one])
    }

    @Test func `the return code of a shell command is not an error, also in its earlier form`() async throws {
        let world = try await SimulatedWorld()
        let (client, _, _) = try await client(world: world) { [$0.response(["o": "no such command", "rc": -8])] }
        let result = try await client.execute(["x"])
        #expect(result == FirmwareClient.ShellResult(output: "no such command", returnCode: -8))
    }

    @Test func `responses in any order, in parts and together in a packet, reach their requests`() async throws {
        let world = try await SimulatedWorld()
        let held = SharedValue<[SMPFrame]>([])
        let (client, _, _) = try await client(world: world) { request in
            let all = held.change {
                $0.append(request)
                return $0
            }
            guard all.count == 3 else { return [] }
            let bytes = all.reversed().flatMap { $0.response(["r": $0.fields["d"]!]) }
            return [Array(bytes[..<5]), Array(bytes[5..<30]), Array(bytes[30...])]
        }
        async let a = client.echo("a")
        async let b = client.echo("b")
        async let c = client.echo("c")
        #expect(try await [a, b, c] == ["a", "b", "c"])
    }

    @Test func `a response with another sequence number, command or operation is not taken`() async throws {
        let world = try await SimulatedWorld()
        let (client, _, _) = try await client(world: world) { request in
            let header = request.header
            let fields: CBORMap = ["r": "wrong"]
            return [
                SMPFrame(.writeResponse, header.command, sequence: header.sequence &+ 1, fields).bytes,
                SMPFrame(.writeResponse, SMPCommand(.os, 1), sequence: header.sequence, fields).bytes,
                SMPFrame(.readResponse, header.command, sequence: header.sequence, fields).bytes,
                SMPFrame(.write, header.command, sequence: header.sequence, fields).bytes,
                request.response(["r": "right"]),
                request.response(["r": "late"]),
            ]
        }
        #expect(try await client.echo("") == "right")
    }

    @Test func `a request without a response ends at its timeout, and the rest of a response does no harm`()
        async throws
    {
        let world = try await SimulatedWorld()
        let count = SharedValue(0)
        let (client, _, _) = try await client(world: world) { request in
            let number = count.change {
                $0 += 1
                return $0
            }
            let response = request.response(["r": "whole"])
            return [number == 1 ? Array(response[..<9]) : response]
        }
        await world.run {
            async let failing: Void = {
                let error = await expectError(.timedOut) { try await client.echo("") }
                #expect(error?.isRetryable == true)
            }()
            await world.clock.run(for: .seconds(11))
            await failing
        }
        #expect(try await client.echo("") == "whole")
    }

    @Test(arguments: [
        "0b00000100000000a1", "0b0000010000000000", "0b00ffff00000000a0", "0b00000100000000a0",
        "0b000003000000" + "00a16172",
    ]) func `invalid responses are reported at once`(_ hex: String) async throws {
        let world = try await SimulatedWorld()
        let (client, _, _) = try await client(world: world) { [$0.response(vector: Hex.bytes(hex)!)] }
        await expectError(.invalidManagementResponse) { try await client.echo("") }
    }

    @Test func `the end of the link ends what waits, and the next request connects again`() async throws {
        let world = try await SimulatedWorld()
        let (client, _, grip) = try await client(world: world) { request in
            request.fields["d"] == "stay" ? [] : [request.response(["r": "ok"])]
        }
        await grip.dropLink(after: .write, .nth(1))
        await expectError(.disconnected) { try await client.echo("stay") }
        #expect(try await client.echo("again") == "ok")
    }

    @Test func `the rest of a frame is not sent after an interruption that the subscription outlasts`() async throws {
        let world = try await SimulatedWorld()
        let (packets, subscriptions) = (SharedValue<[[UInt8]]>([]), SharedValue(0))
        let device = ScriptedDevice { [$0.response(["r": $0.fields["d"]!])] }
        var definition = device.definition
        definition.maximumATTMTU = 23
        let point = definition.services[0].characteristics[0]
        definition.services[0].characteristics[0].onWrite = { (packet, request) throws(ATTError) in
            packets.change { $0.append(packet) }
            try await point.onWrite?(packet, request)
        }
        definition.services[0].characteristics[0].onSubscribe = { notifier in
            subscriptions.next()
            try await point.onSubscribe?(notifier)
        }
        let (peripheral, grip) = try await world.add(definition)
        try await peripheral.setConnectionPolicy(.maintained())
        let client = FirmwareClient(peripheral)
        #expect(try await client.echo("a") == "a")
        packets.change { $0 = [] }
        let second = await grip.hold(.write(of: .smp), .nth(2))
        let task = Task { try await client.echo(String(repeating: "b", count: 60)) }
        await second.disturbed()
        // The service changes, with the characteristic at the same handle: the link and the notifications go on.
        var service = definition.services[0]
        service.characteristics.append(CharacteristicDefinition(BluetoothUUID(0xFF01), .read))
        await grip.setServices([service])
        await world.clock.run(for: .seconds(2))
        #expect(subscriptions.value == 2)
        await expectError(.disconnected) { try await task.value }
        await second.release()
        #expect(try await client.echo("c") == "c")
        // Two packets of the frame, and the next one.
        #expect(packets.value.map(\.count) == [20, 20, 13])
        await world.central.shutDown()
    }

    @Test func `a cancelled request leaves the others`() async throws {
        let world = try await SimulatedWorld()
        let (client, device, _) = try await client(world: world) { request in
            guard request.fields["d"] != "wait" else { return [] }
            return [request.response(["r": "ok"])]
        }
        let task = Task { try await client.echo("wait") }
        await until { device.requests.value.count == 1 }
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        #expect(try await client.echo("") == "ok")
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.echo("")
        }
        await expectError(.cancelled) { try await cancelled.value }
    }

    @Test func `a closed client ends what waits`() async throws {
        let world = try await SimulatedWorld()
        let (client, device, _) = try await client(world: world) { _ in [] }
        let task = Task { try await client.echo("wait") }
        await until { device.requests.value.count == 1 }
        await client.close()
        await expectError(.connectionCancelled) { try await task.value }
        await expectError(.connectionCancelled) { try await client.echo("") }
    }

    @Test func `256 requests wait at the same time, and another is refused`() async throws {
        let world = try await SimulatedWorld()
        let (client, device, _) = try await client(world: world) { _ in [] }
        let tasks = (0..<256).map { _ in Task { try await client.echo("") } }
        await until { device.requests.value.count == 256 }
        #expect(Set(device.requests.value.map(\.header.sequence)).count == 256)
        await expectError(.busy) { try await client.echo("") }
        await client.close()
        for task in tasks { await expectError(.connectionCancelled) { try await task.value } }
    }

    @Test func `a device without the service is reported`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(.battery())
        await expectError(.serviceNotFound) { try await FirmwareClient(peripheral).echo("") }
    }

    @Test func `a download that does not go on, or is too long, ends`() async throws {
        let world = try await SimulatedWorld()
        let answers = SharedValue<[CBORMap]>([
            ["off": 0, "len": 10, "data": .bytes([])], ["off": 0, "len": 2, "data": .bytes([1, 2, 3])],
            ["off": 1, "len": 2, "data": .bytes([1])], ["off": 0, "data": .bytes([1])],
        ])
        let (client, _, _) = try await client(world: world) { request in
            [request.response(answers.change { $0.removeFirst() })]
        }
        for _ in 0..<4 { await expectError(.invalidManagementResponse) { try await client.download("a") } }
        answers.change { $0 = [["off": 0, "len": 1000, "data": .bytes([1])]] }
        await expectError(.invalidLength) { try await client.download("a", maximumLength: 999) }
    }
}
