internal import DBus
internal import Glibc

/// A hostile bluetoothd on a correct bus: it answers calls correctly, oddly, late or never, and sends any other
/// messages.
final class HostileDaemon {
    let bus: HostileBus
    var dice: Dice
    /// How many of a thousand answers are odd.
    var madness = 0
    /// The owner of bluetoothd's name, if there is one.
    private(set) var owner: String? = ":1.7"
    private var lastOwner = 7
    private var connected: Set<Int> = []
    /// Calls whose answer is still to come.
    private var held: [(client: HostileBus.Client, call: HostileBus.Heard)] = []
    /// The other ends of the sockets that were handed out, with their device and characteristic.
    private(set) var sockets: [(socket: Int32, device: Int, characteristic: Int)] = []
    /// The objects that the client has registered.
    private var monitors: [String] = []
    /// The calls of other programs, by the connection that received them. None may succeed.
    private var foreignCalls: [String: Set<UInt32>] = [:]
    private var fence: UInt32?
    private(set) var finding: String?
    /// Receives a line for each message.
    var trace: (() -> String) -> Void = { _ in }

    init(_ bus: HostileBus, _ dice: Dice) {
        self.bus = bus
        self.dice = dice
        bus.onMessage = { [unowned self] client, heard in receive(client, heard) }
    }

    deinit { closeSockets() }

    private func closeSockets() {
        for socket in sockets { close(socket.socket) }
        sockets = []
    }

    // MARK: What comes

    private func receive(_ client: HostileBus.Client, _ heard: HostileBus.Heard) {
        guard heard.kind == WireMessage.Kind.call.rawValue else {
            if client === bus.client, heard.replySerial == fence { fence = nil }
            if foreignCalls[client.name]?.remove(heard.replySerial) != nil,
                heard.kind != WireMessage.Kind.error.rawValue
            {
                finding = "a foreigner's call was answered"
            }
            return
        }
        guard heard.interface != "org.freedesktop.DBus" else { return answerForBus(client, heard) }
        trace { "<- \(heard.member) \(heard.path)" }
        guard owner != nil else {
            return refuse(client, heard, "org.freedesktop.DBus.Error.ServiceUnknown", from: "org.freedesktop.DBus")
        }
        switch dice.below(1000) {
        case ..<(madness / 3) where held.count < 30: held.append((client, heard))
        case ..<madness: answerOddly(client, heard)
        default: answerWell(client, heard)
        }
    }

    private func answerForBus(_ client: HostileBus.Client, _ heard: HostileBus.Heard) {
        let bus = "org.freedesktop.DBus"
        switch heard.member {
        case "Hello": answer(client, heard, [.string(client.name)], from: bus)
        case "GetNameOwner":
            guard let owner else {
                return refuse(client, heard, "org.freedesktop.DBus.Error.NameHasNoOwner", from: bus)
            }
            answer(client, heard, [.string(owner)], from: bus)
        default: answer(client, heard, [], from: bus)
        }
    }

    // MARK: Answering

    private func answer(
        _ client: HostileBus.Client, _ heard: HostileBus.Heard, _ values: [DBusValue], from sender: String? = nil,
        descriptor: Int32? = nil
    ) {
        guard heard.wantsReply, !client.isClosed else { return }
        bus.send(
            WireMessage(
                kind: .answer, replySerial: heard.serial, destination: client.name, sender: sender ?? owner ?? ":1.7",
                body: values), to: client, descriptor: descriptor)
    }

    private func refuse(
        _ client: HostileBus.Client, _ heard: HostileBus.Heard, _ name: String, from sender: String? = nil
    ) {
        guard heard.wantsReply, !client.isClosed else { return }
        bus.send(
            WireMessage(
                kind: .error, errorName: name, replySerial: heard.serial, destination: client.name,
                sender: sender ?? owner ?? ":1.7", body: [.string(dice.text())]), to: client)
    }

    private static let errors =
        ["Failed", "InProgress", "NotReady", "NotConnected", "DoesNotExist", "NotPermitted", "NotSupported"].map {
            "org.bluez.Error.\($0)"
        } + [
            "org.bluez.Error.AuthenticationFailed", "org.bluez.Error.AlreadyExists", "org.bluez.Error.AlreadyConnected",
            "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.NoReply", "no.such.Error",
            "org.freedesktop.DBus.Error.InvalidArgs",
        ]

    private func answerOddly(_ client: HostileBus.Client, _ heard: HostileBus.Heard) {
        switch dice.below(6) {
        case 0, 1: refuse(client, heard, dice.pick(Self.errors))
        case 2: answer(client, heard, [])
        case 3: answer(client, heard, (0..<1 + dice.below(3)).map { _ in dice.value() })
        case 4 where heard.member.hasPrefix("Acquire"):
            acquire(client, heard, packetLength: dice.value())
        case 4:
            // The right shape with numbers of any size.
            answer(client, heard, [.variant(.int64(dice.number()))])
        default:
            // Twice.
            answerWell(client, heard)
            answerWell(client, heard)
        }
    }

    /// Answers calls that were held back, at most `count`.
    func release(_ count: Int = .max) {
        for _ in 0..<min(count, held.count) {
            let (client, call) = held.remove(at: dice.below(held.count))
            answerWell(client, call)
        }
    }

    private func answerWell(_ client: HostileBus.Client, _ heard: HostileBus.Heard) {
        let device = HostileWorld.devices.firstIndex { heard.path.hasPrefix($0) }
        switch heard.member {
        case "GetManagedObjects": answer(client, heard, [HostileWorld.managedObjects(connected: connected)])
        case "GetAll":
            let properties = device.map { HostileWorld.deviceProperties($0, isConnected: connected.contains($0)) }
            answer(client, heard, [.options(properties ?? [:])])
        case "Get":
            let isLength = heard.arguments.last?.string == "MTU"
            answer(client, heard, [.variant(isLength ? .uint16(247) : .int16(-60))])
        case "Connect":
            if let device { link(device, true) }
            answer(client, heard, [])
        case "Disconnect":
            if let device { link(device, false) }
            answer(client, heard, [])
        case "Pair":
            say(heard.path, BlueZ.device, ["Paired": .boolean(true)])
            answer(client, heard, [])
        case "Set":
            if heard.arguments.first?.string == BlueZ.adapter, let name = heard.arguments.dropFirst().first?.string,
                let value = heard.arguments.last
            {
                say(heard.path, BlueZ.adapter, [name: value.unwrapped])
            }
            answer(client, heard, [])
        case "ReadValue": answerRead(client, heard)
        case "AcquireNotify", "AcquireWrite": acquire(client, heard, packetLength: .uint16(247))
        case "RegisterMonitor":
            answer(client, heard, [])
            if let path = heard.arguments.first?.string {
                monitors.append(path)
                if monitors.count > 20 { monitors.removeFirst() }
                for number in 0..<3 {
                    call(path + "/\(number)", "org.bluez.AdvertisementMonitor1", "Activate", [])
                    call(path + "/monitor\(number)", "org.bluez.AdvertisementMonitor1", "Activate", [])
                }
            }
        default: answer(client, heard, [])
        }
    }

    private func answerRead(_ client: HostileBus.Client, _ heard: HostileBus.Heard) {
        for device in HostileWorld.devices.indices {
            for characteristic in HostileWorld.characteristics.indices
            where HostileWorld.path(device, characteristic) == heard.path {
                let value = HostileWorld.value(device, characteristic, dice.bytes(atMost: 20))
                say(heard.path, BlueZ.gattCharacteristic, ["Value": .bytes(value)])
                return answer(client, heard, [.bytes(value)])
            }
        }
        answer(client, heard, [.bytes(Array("Thing".utf8))])
    }

    private func acquire(_ client: HostileBus.Client, _ heard: HostileBus.Heard, packetLength: DBusValue) {
        for device in HostileWorld.devices.indices {
            for characteristic in HostileWorld.characteristics.indices
            where HostileWorld.path(device, characteristic) == heard.path {
                var ends: [Int32] = [-1, -1]
                guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0
                else { break }
                defer { close(ends[0]) }
                if sockets.count > 16 { close(sockets.removeFirst().socket) }
                sockets.append((ends[1], device, heard.member == "AcquireNotify" ? characteristic : -1))
                return answer(client, heard, [.unixFD(0), packetLength], descriptor: ends[0])
            }
        }
        refuse(client, heard, "org.bluez.Error.NotSupported")
    }

    private func link(_ device: Int, _ isUp: Bool) {
        if isUp { connected.insert(device) } else { connected.remove(device) }
        say(
            HostileWorld.devices[device], BlueZ.device,
            ["Connected": .boolean(isUp), "ServicesResolved": .boolean(isUp)])
    }

    // MARK: Speaking

    func say(_ path: String, _ interface: String, _ properties: [String: DBusValue]) {
        signal(path, BlueZ.properties, "PropertiesChanged", [.string(interface), .options(properties), .strings([])])
    }

    func signal(_ path: String, _ interface: String, _ member: String, _ body: [DBusValue]) {
        guard let owner else { return }
        send(WireMessage(kind: .signal, path: path, interface: interface, member: member, sender: owner, body: body))
    }

    /// A message to the connection that listens.
    func send(_ message: WireMessage) {
        guard let client = bus.client else { return }
        trace { "-> \(message.member ?? "answer") \(message.path ?? "") \(message.body)" }
        bus.send(message, to: client)
    }

    /// Calls an object of the client.
    func call(_ path: String, _ interface: String, _ member: String, _ body: [DBusValue], isForeign: Bool = false) {
        guard let client = bus.client, let owner else { return }
        let serial = bus.send(
            WireMessage(
                kind: .call, path: path, interface: interface, member: member, destination: client.name,
                sender: isForeign ? ":1.66" : owner, body: body), to: client)
        if isForeign { foreignCalls[client.name, default: []].insert(serial) }
    }

    func callMonitor(isForeign: Bool) {
        guard !monitors.isEmpty else { return }
        let path = dice.pick(monitors)
        call(
            dice.permille(300) ? path : path + "/0", "org.bluez.AdvertisementMonitor1",
            dice.pick(["Activate", "Release", "DeviceFound", "DeviceLost"]),
            dice.permille(700) ? [.objectPath(dice.pick(HostileWorld.devices))] : [], isForeign: isForeign)
    }

    /// Sends a packet on a socket that was handed out, or closes the socket.
    func sendPacket() {
        guard !sockets.isEmpty else { return }
        let index = dice.below(sockets.count)
        let (socket, device, characteristic) = sockets[index]
        if dice.permille(100) {
            close(sockets.remove(at: index).socket)
            return
        }
        var space = [UInt8](repeating: 0, count: 1024)
        if characteristic < 0 {
            _ = recv(socket, &space, space.count, Int32(MSG_DONTWAIT))
            return
        }
        let rest = dice.bytes(atMost: dice.permille(20) ? 6000 : 30)
        let value = dice.permille(700) ? HostileWorld.value(device, characteristic, rest) : rest
        _ = Glibc.send(socket, value, value.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }

    // MARK: The name

    /// Changes the owner of bluetoothd's name.
    func changeOwner(toNobody: Bool) {
        let before = owner ?? ""
        lastOwner += 1
        owner = toNobody ? nil : ":1.\(lastOwner)x"
        connected = []
        closeSockets()
        monitors = []
        let calls = held
        held = []
        send(Self.ownerChanged(before, owner ?? "", sender: "org.freedesktop.DBus"))
        for (client, call) in calls {
            refuse(client, call, "org.freedesktop.DBus.Error.NoReply", from: "org.freedesktop.DBus")
        }
    }

    // MARK: Waiting

    /// Returns once the client has received all messages.
    func awaitReception() -> Bool {
        guard let client = bus.client else { return true }
        fence = bus.send(
            WireMessage(
                kind: .call, path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping",
                destination: client.name,
                sender: ":1.5"), to: client)
        return bus.pump { fence == nil || client.isClosed }
    }
}
