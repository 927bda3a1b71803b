internal import BLE
internal import DBus

/// One input: some messages that a hostile peer sends, all from the number of the input.
struct HostileInput {
    private let daemon: HostileDaemon
    private var dice: Dice
    /// Bytes of the messages are changed: they must not say anything that could come out as another truth.
    private var isTainted = false

    init(_ daemon: HostileDaemon, _ dice: Dice) { (self.daemon, self.dice) = (daemon, dice) }

    mutating func send() {
        for _ in 0..<1 + dice.below(3) { sendOne() }
    }

    private mutating func sendOne() {
        switch dice.below(1000) {
        case ..<300: send(valueChanged())
        case ..<470: send(advertisement())
        case ..<560: send(propertiesChanged())
        case ..<620: send(interfacesAdded())
        case ..<640: send(interfacesRemoved())
        case ..<660: linkChanged()
        case ..<670: send(disconnected())
        case ..<720: sendForeign()
        case ..<780: sendChanged()
        case ..<820: send(unexpectedAnswer())
        case ..<880: for _ in 0...dice.below(4) { daemon.sendPacket() }
        case ..<915: callAgent(isForeign: dice.permille(500))
        case ..<930: daemon.callMonitor(isForeign: dice.permille(500))
        case ..<960: daemon.release(1 + dice.below(8))
        case ..<990: send(anySignal())
        case ..<995: sendCall()
        case ..<998: changeOwner()
        case 998: sendGarbage()
        default:
            if let client = dice.permille(500) ? daemon.bus.listening : daemon.bus.calling { daemon.bus.drop(client) }
        }
    }

    private mutating func send(_ message: WireMessage) {
        var message = message
        message.isBigEndian = dice.permille(50)
        daemon.send(message)
    }

    private func signal(_ path: String, _ interface: String, _ member: String, _ body: [DBusValue]) -> WireMessage {
        WireMessage(
            kind: .signal, path: path, interface: interface, member: member, sender: daemon.owner ?? ":1.7", body: body)
    }

    // MARK: Signals

    private mutating func valueChanged() -> WireMessage {
        let (device, characteristic) = place()
        let rest = dice.bytes(atMost: dice.permille(20) ? 600 : 24)
        let value = isTainted ? rest : HostileWorld.value(device, characteristic, rest)
        var properties: [String: DBusValue] = ["Value": .bytes(value)]
        if dice.permille(50) { properties["Value"] = dice.value() }
        if dice.permille(50) {
            properties[dice.pick(["Notifying", "NotifyAcquired", "WriteAcquired"])] = .boolean(dice.permille(500))
        }
        return changed(HostileWorld.path(device, characteristic), BlueZ.gattCharacteristic, properties)
    }

    private mutating func place() -> (device: Int, characteristic: Int) {
        (dice.below(HostileWorld.devices.count), dice.below(HostileWorld.characteristics.count))
    }

    private mutating func changed(_ path: String, _ interface: String, _ properties: [String: DBusValue]) -> WireMessage
    {
        var invalidated: DBusValue = .strings([])
        if dice.permille(60) {
            invalidated = .strings((0..<dice.below(4)).map { _ in dice.pick(["RSSI", "TxPower", "Value", "", "x"]) })
        }
        return signal(
            path, BlueZ.properties, "PropertiesChanged", [.string(interface), .options(properties), invalidated])
    }

    private mutating func advertisement() -> WireMessage {
        var properties: [String: DBusValue] = ["RSSI": .int16(Int16(-30 - dice.below(60)))]
        if dice.permille(300) {
            properties["ManufacturerData"] = .dictionary(
                key: "q", value: "v", [.uint16(UInt16(dice.below(5))): .variant(.bytes(dice.bytes(atMost: 24)))])
        }
        if dice.permille(200) {
            properties["ServiceData"] = .options([dice.pick(HostileWorld.inventedUUIDs): .bytes(dice.bytes(atMost: 20))]
            )
        }
        if dice.permille(100) { properties["AdvertisingFlags"] = .bytes(dice.bytes(atMost: 2)) }
        if dice.permille(100) {
            properties["AdvertisingData"] = .dictionary(
                key: "y", value: "v", [.byte(dice.byte()): .variant(.bytes(dice.bytes(atMost: 28)))])
        }
        if dice.permille(100) { properties["Name"] = .string(dice.text()) }
        return changed(dice.pick(HostileWorld.devices), BlueZ.device, properties)
    }

    private mutating func propertiesChanged() -> WireMessage {
        switch dice.below(5) {
        case 0: return changed(anyPath(HostileWorld.adapter), BlueZ.adapter, adapterProperties())
        case 1, 2: return changed(anyPath(dice.pick(HostileWorld.devices)), BlueZ.device, deviceProperties())
        case 3:
            let (device, characteristic) = place()
            return changed(
                anyPath(HostileWorld.path(device, characteristic)), attributeInterface(), attributeProperties())
        default:
            return changed(anyPath(HostileWorld.adapter), dice.text(), ["Value": dice.value(), "RSSI": dice.value()])
        }
    }

    private mutating func attributeInterface() -> String {
        dice.pick([BlueZ.gattService, BlueZ.gattCharacteristic, BlueZ.gattDescriptor])
    }

    private mutating func anyPath(_ usual: String) -> String {
        dice.permille(700) && !isTainted ? usual : dice.pick(HostileWorld.inventedPaths)
    }

    /// A value as documented, or now and then any.
    private mutating func or(_ value: DBusValue) -> DBusValue { dice.permille(850) ? value : dice.value() }

    private mutating func adapterProperties() -> [String: DBusValue] {
        var properties: [String: DBusValue] = [:]
        if dice.permille(300) { properties["Powered"] = or(.boolean(dice.permille(800))) }
        if dice.permille(300) { properties["Discovering"] = or(.boolean(dice.permille(500))) }
        if dice.permille(300) { properties["Alias"] = or(.string(dice.text())) }
        if dice.permille(300) { properties["Name"] = or(.string(dice.text())) }
        if dice.permille(300) { properties["Address"] = or(.string(dice.pick(HostileWorld.inventedAddresses))) }
        return properties
    }

    private mutating func deviceProperties() -> [String: DBusValue] {
        let usual: [(String, (inout HostileInput) -> DBusValue)] = [
            ("Address", { .string($0.dice.pick(HostileWorld.inventedAddresses)) }),
            (
                "Adapter",
                { .objectPath($0.dice.permille(700) ? HostileWorld.adapter : $0.dice.pick(HostileWorld.inventedPaths)) }
            ),
            ("Name", { .string($0.dice.text()) }), ("RSSI", { .int16(Int16(truncatingIfNeeded: $0.dice.number())) }),
            ("TxPower", { .int16(Int16(truncatingIfNeeded: $0.dice.number())) }),
            (
                "UUIDs",
                { input in .strings((0..<input.dice.below(5)).map { _ in input.dice.pick(HostileWorld.inventedUUIDs) })
                }
            ),
            ("Appearance", { .uint16(UInt16(truncatingIfNeeded: $0.dice.number())) }),
            ("Class", { .uint32(UInt32(truncatingIfNeeded: $0.dice.number())) }),
            ("AddressType", { .string($0.dice.text()) }), ("Connected", { .boolean($0.dice.permille(700)) }),
            ("ServicesResolved", { .boolean($0.dice.permille(800)) }), ("Paired", { .boolean($0.dice.permille(500)) }),
            ("Trusted", { .boolean($0.dice.permille(500)) }), ("Blocked", { .boolean($0.dice.permille(500)) }),
            ("ManufacturerData", { $0.dice.value() }), ("ServiceData", { $0.dice.value() }),
            ("AdvertisingData", { $0.dice.value() }),
        ]
        var properties: [String: DBusValue] = [:]
        for (name, make) in usual where dice.permille(150) {
            let value = make(&self)
            properties[name] = or(value)
        }
        return properties
    }

    private mutating func attributeProperties() -> [String: DBusValue] {
        var properties: [String: DBusValue] = [:]
        if dice.permille(300) { properties["UUID"] = or(.string(dice.pick(HostileWorld.inventedUUIDs))) }
        if dice.permille(300) { properties["Primary"] = or(.boolean(dice.permille(500))) }
        if dice.permille(300) {
            properties["Flags"] = or(
                .strings(
                    (0..<dice.below(5)).map { _ in dice.pick(["read", "write", "notify", "indicate", "nonsense"]) }))
        }
        if dice.permille(300) {
            properties["Includes"] = or(
                .array(
                    element: "o", (0..<dice.below(4)).map { _ in .objectPath(dice.pick(HostileWorld.inventedPaths)) }))
        }
        if dice.permille(300) { properties["Notifying"] = or(.boolean(dice.permille(500))) }
        return properties
    }

    private mutating func interfacesAdded() -> WireMessage {
        if !isTainted, dice.permille(400) {
            // What there is, again.
            let device = dice.below(HostileWorld.devices.count)
            if dice.permille(300) {
                let properties = HostileWorld.deviceProperties(device, isConnected: dice.permille(500))
                return added(HostileWorld.devices[device], [BlueZ.device: .options(properties)])
            }
            let attribute = dice.pick(HostileWorld.attributes(device))
            return added(attribute.path, [attribute.interface: .options(attribute.properties)])
        }
        var interfaces: [String: DBusValue] = [:]
        for _ in 0..<1 + dice.below(3) {
            switch dice.below(5) {
            case 0: interfaces[BlueZ.device] = .options(deviceProperties())
            case 1: interfaces[BlueZ.adapter] = .options(adapterProperties())
            case 2, 3: interfaces[attributeInterface()] = .options(attributeProperties())
            default: interfaces[dice.text()] = .options(["Thing": dice.value()])
            }
        }
        return added(dice.pick(HostileWorld.inventedPaths), interfaces)
    }

    private func added(_ path: String, _ interfaces: [String: DBusValue]) -> WireMessage {
        signal("/", BlueZ.objectManager, "InterfacesAdded", [.objectPath(path), HostileWorld.interfaces(interfaces)])
    }

    private mutating func interfacesRemoved() -> WireMessage {
        let (device, characteristic) = place()
        let path = anyPath(
            dice.pick([
                HostileWorld.adapter, HostileWorld.devices[device], HostileWorld.path(device, characteristic),
                HostileWorld.descriptor(device, characteristic), HostileWorld.devices[device] + "/service0010",
            ]))
        let interfaces = (0..<1 + dice.below(3)).map { _ in
            dice.pick([
                BlueZ.adapter, BlueZ.device, BlueZ.gattService, BlueZ.gattCharacteristic, BlueZ.gattDescriptor, "x",
            ])
        }
        return signal("/", BlueZ.objectManager, "InterfacesRemoved", [.objectPath(path), .strings(interfaces)])
    }

    private mutating func disconnected() -> WireMessage {
        signal(
            anyPath(dice.pick(HostileWorld.devices)), BlueZ.device, "Disconnected",
            [
                or(.string(dice.pick(["org.bluez.Reason.Timeout", "org.bluez.Reason.Remote", ""]))),
                or(.string(dice.text())),
            ])
    }

    private mutating func linkChanged() {
        let isUp = dice.permille(700)
        daemon.say(
            dice.pick(HostileWorld.devices), BlueZ.device,
            ["Connected": .boolean(isUp), "ServicesResolved": .boolean(isUp && dice.permille(900))])
    }

    private mutating func anySignal() -> WireMessage {
        signal(
            anyPath(dice.pick(HostileWorld.devices)),
            dice.pick([BlueZ.properties, BlueZ.objectManager, BlueZ.device, "x.y"]),
            dice.pick([
                "PropertiesChanged", "InterfacesAdded", "InterfacesRemoved", "Disconnected", "NameOwnerChanged", "",
            ]),
            (0..<dice.below(4)).map { _ in dice.value() })
    }

    // MARK: Lies

    /// What a user of the bus can send who is not bluetoothd.
    private mutating func sendForeign() {
        let value: [String: DBusValue] = ["Value": .bytes(HostileWorld.foreignValue(dice.bytes(atMost: 8)))]
        let (device, characteristic) = place()
        var message =
            switch dice.below(6) {
            case 0, 1: changed(HostileWorld.path(device, characteristic), BlueZ.gattCharacteristic, value)
            case 2:
                added(
                    HostileWorld.foreignPath,
                    [
                        BlueZ.device: .options([
                            "Address": .string("66:66:66:66:66:66"), "Adapter": .objectPath(HostileWorld.adapter),
                            "RSSI": .int16(-1),
                        ])
                    ])
            case 3: HostileDaemon.ownerChanged(daemon.owner ?? "", ":1.66", sender: ":1.66")
            case 4: interfacesRemoved()
            default:
                WireMessage(
                    kind: dice.permille(500) ? .answer : .error, errorName: "org.bluez.Error.Failed",
                    replySerial: UInt32(dice.below(400)),
                    body: [.bytes(HostileWorld.foreignValue([]))])
            }
        message.sender = dice.permille(950) ? ":1.66" : nil
        send(message)
    }

    private mutating func unexpectedAnswer() -> WireMessage {
        WireMessage(
            kind: dice.permille(500) ? .answer : .error, errorName: dice.text(), replySerial: UInt32(dice.below(400)),
            sender: dice.permille(500) ? daemon.owner : "org.freedesktop.DBus",
            body: (0..<dice.below(3)).map { _ in dice.value() })
    }

    private mutating func callAgent(isForeign: Bool) {
        // GDBus ends the connection at a path that is none, as the bus would.
        let device = DBusValue.objectPath(dice.pick(HostileWorld.devices + ["/", "/org/bluez/hci0/dev_00", "/a/b/c"]))
        let arguments: [DBusValue] =
            switch dice.below(5) {
            case 0: [device]
            case 1: [device, .uint32(UInt32(truncatingIfNeeded: dice.number()))]
            case 2:
                [device, .uint32(UInt32(dice.below(1_000_000))), .uint16(UInt16(truncatingIfNeeded: dice.number()))]
            case 3: [device, .string(dice.text())]
            default: []
            }
        daemon.call(
            "/org/swift_ble/agent", "org.bluez.Agent1",
            dice.pick([
                "RequestPinCode", "DisplayPinCode", "RequestPasskey", "DisplayPasskey", "RequestConfirmation",
                "RequestAuthorization", "AuthorizeService", "Cancel", "Release",
            ]), arguments, isForeign: isForeign)
    }

    /// A call of what listens only.
    private mutating func sendCall() {
        send(
            WireMessage(
                kind: .call, wantsNoReply: dice.permille(500), path: dice.pick(HostileWorld.inventedPaths),
                member: dice.text(),
                sender: ":1.66", body: [dice.value()]))
    }

    private mutating func changeOwner() {
        switch dice.below(3) {
        case 0: daemon.changeOwner(toNobody: false)
        case 1: daemon.changeOwner(toNobody: true)
        default:
            daemon.changeOwner(toNobody: true)
            daemon.changeOwner(toNobody: false)
        }
    }

    // MARK: Broken messages

    /// A message with other bytes here and there.
    private mutating func sendChanged() {
        guard let client = daemon.bus.listening else { return }
        isTainted = true
        defer { isTainted = false }
        let message =
            switch dice.below(6) {
            case 0: valueChanged()
            case 1: advertisement()
            case 2: propertiesChanged()
            case 3: interfacesAdded()
            case 4: interfacesRemoved()
            default: unexpectedAnswer()
            }
        let whole = message.bytes
        var bytes = whole
        // Where a message ends stays true: the reader finds the next one, most times.
        let start = dice.permille(5) ? 0 : 16
        let fields = 16 + Int(bytes[12]) + Int(bytes[13]) << 8
        for _ in 0..<1 + dice.below(4) {
            // The body, the header's fields, or the first message that is not one ends the connection.
            let range = dice.permille(950) ? min(fields, bytes.count - 1)..<bytes.count : start..<bytes.count
            let place = range.lowerBound + dice.below(range.count)
            bytes[place] = dice.permille(500) ? dice.byte() : bytes[place] ^ (1 << UInt8(dice.below(8)))
        }
        daemon.trace { "-> changed \(message.member ?? "") \(Hex.string(bytes))" }
        daemon.bus.send(bytes, to: client)
        // Of another length, it would take what follows for its rest.
        if bytes.prefix(16) != whole.prefix(16) { daemon.bus.drop(client) }
    }

    private mutating func sendGarbage() {
        guard let client = dice.permille(800) ? daemon.bus.listening : daemon.bus.calling else { return }
        var bytes = dice.bytes(atMost: 300)
        if dice.permille(500), bytes.count > 16 {
            bytes[0] = UInt8(ascii: "l")
            bytes[3] = 1
        }
        daemon.trace { "-> garbage \(Hex.string(bytes))" }
        daemon.bus.send(bytes, to: client)
        // What follows would be taken for its rest.
        daemon.bus.drop(client)
    }
}
