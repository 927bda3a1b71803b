/// Messages of other programs than the daemon, and broken messages.
extension HostileInput {
    /// Sends a message that any program on the bus can send.
    mutating func sendForeign() {
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

    mutating func unexpectedAnswer() -> WireMessage {
        WireMessage(
            kind: dice.permille(500) ? .answer : .error, errorName: dice.text(), replySerial: UInt32(dice.below(400)),
            sender: dice.permille(500) ? daemon.owner : "org.freedesktop.DBus",
            body: (0..<dice.below(3)).map { _ in dice.value() })
    }

    mutating func callAgent(isForeign: Bool) {
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

    /// Calls an object that only listens.
    mutating func sendCall() {
        send(
            WireMessage(
                kind: .call, wantsNoReply: dice.permille(500), path: dice.pick(HostileWorld.inventedPaths),
                member: dice.text(),
                sender: ":1.66", body: [dice.value()]))
    }

    mutating func changeOwner() {
        switch dice.below(3) {
        case 0: daemon.changeOwner(toNobody: false)
        case 1: daemon.changeOwner(toNobody: true)
        default:
            daemon.changeOwner(toNobody: true)
            daemon.changeOwner(toNobody: false)
        }
    }

    // MARK: Broken messages

    /// Sends a message with some bytes changed.
    mutating func sendChanged() {
        guard let client = daemon.bus.client else { return }
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
        // The length of a message stays correct, so that the reader usually finds the next one.
        let start = dice.permille(5) ? 0 : 16
        let fields = 16 + Int(bytes[12]) + Int(bytes[13]) << 8
        for _ in 0..<1 + dice.below(4) {
            // Mostly in the body: an invalid header ends the connection.
            let range = dice.permille(950) ? min(fields, bytes.count - 1)..<bytes.count : start..<bytes.count
            let place = range.lowerBound + dice.below(range.count)
            bytes[place] = dice.permille(500) ? dice.byte() : bytes[place] ^ (1 << UInt8(dice.below(8)))
        }
        daemon.trace { "-> changed \(message.member ?? "") \(Hex.string(bytes))" }
        daemon.bus.send(bytes, to: client)
        // With another length, the next message would be read as the rest of this one.
        if bytes.prefix(16) != whole.prefix(16) { daemon.bus.drop(client) }
    }

    mutating func sendGarbage() {
        guard let client = daemon.bus.client else { return }
        var bytes = dice.bytes(atMost: 300)
        if dice.permille(500), bytes.count > 16 {
            bytes[0] = UInt8(ascii: "l")
            bytes[3] = 1
        }
        daemon.trace { "-> garbage \(Hex.string(bytes))" }
        daemon.bus.send(bytes, to: client)
        // The next message would be read as the rest of this one.
        daemon.bus.drop(client)
    }
}
