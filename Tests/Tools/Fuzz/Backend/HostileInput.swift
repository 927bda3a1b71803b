internal import BLE
internal import DBus

/// One input: some messages of a hostile peer, all determined by the number of the input.
struct HostileInput {
    let daemon: HostileDaemon
    var dice: Dice
    /// Whether bytes of the messages are changed. Then the messages must not contain values that a change could turn
    /// into valid ones of another characteristic.
    var isTainted = false

    init(_ daemon: HostileDaemon, _ dice: Dice) { (self.daemon, self.dice) = (daemon, dice) }

    mutating func send() {
        for _ in 0..<1 + dice.below(3) { sendOne() }
    }

    mutating func sendOne() {
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
            if let client = daemon.bus.client { daemon.bus.drop(client) }
        }
    }

    mutating func send(_ message: WireMessage) {
        var message = message
        message.isBigEndian = dice.permille(50)
        daemon.send(message)
    }

    func signal(_ path: String, _ interface: String, _ member: String, _ body: [DBusValue]) -> WireMessage {
        WireMessage(
            kind: .signal, path: path, interface: interface, member: member, sender: daemon.owner ?? ":1.7", body: body)
    }

    // MARK: Signals

    mutating func valueChanged() -> WireMessage {
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

    mutating func place() -> (device: Int, characteristic: Int) {
        (dice.below(HostileWorld.devices.count), dice.below(HostileWorld.characteristics.count))
    }

    mutating func changed(_ path: String, _ interface: String, _ properties: [String: DBusValue]) -> WireMessage {
        var invalidated: DBusValue = .strings([])
        if dice.permille(60) {
            invalidated = .strings((0..<dice.below(4)).map { _ in dice.pick(["RSSI", "TxPower", "Value", "", "x"]) })
        }
        return signal(
            path, BlueZ.properties, "PropertiesChanged", [.string(interface), .options(properties), invalidated])
    }

    mutating func advertisement() -> WireMessage {
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

    mutating func propertiesChanged() -> WireMessage {
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

    mutating func attributeInterface() -> String {
        dice.pick([BlueZ.gattService, BlueZ.gattCharacteristic, BlueZ.gattDescriptor])
    }

    mutating func anyPath(_ usual: String) -> String {
        dice.permille(700) && !isTainted ? usual : dice.pick(HostileWorld.inventedPaths)
    }

    /// The given value, or now and then any value.
    mutating func or(_ value: DBusValue) -> DBusValue { dice.permille(850) ? value : dice.value() }

    mutating func interfacesAdded() -> WireMessage {
        if !isTainted, dice.permille(400) {
            // An object that exists already.
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

    func added(_ path: String, _ interfaces: [String: DBusValue]) -> WireMessage {
        signal("/", BlueZ.objectManager, "InterfacesAdded", [.objectPath(path), HostileWorld.interfaces(interfaces)])
    }

    mutating func interfacesRemoved() -> WireMessage {
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

    mutating func disconnected() -> WireMessage {
        signal(
            anyPath(dice.pick(HostileWorld.devices)), BlueZ.device, "Disconnected",
            [
                or(.string(dice.pick(["org.bluez.Reason.Timeout", "org.bluez.Reason.Remote", ""]))),
                or(.string(dice.text())),
            ])
    }

    mutating func linkChanged() {
        let isUp = dice.permille(700)
        daemon.say(
            dice.pick(HostileWorld.devices), BlueZ.device,
            ["Connected": .boolean(isUp), "ServicesResolved": .boolean(isUp && dice.permille(900))])
    }

    mutating func anySignal() -> WireMessage {
        signal(
            anyPath(dice.pick(HostileWorld.devices)),
            dice.pick([BlueZ.properties, BlueZ.objectManager, BlueZ.device, "x.y"]),
            dice.pick([
                "PropertiesChanged", "InterfacesAdded", "InterfacesRemoved", "Disconnected", "NameOwnerChanged", "",
            ]),
            (0..<dice.below(4)).map { _ in dice.value() })
    }

    // MARK: Lies
}
