/// Properties, from usual ones to nonsense.
extension HostileInput {
    mutating func adapterProperties() -> [String: DBusValue] {
        var properties: [String: DBusValue] = [:]
        if dice.permille(300) { properties["Powered"] = or(.boolean(dice.permille(800))) }
        if dice.permille(300) { properties["Discovering"] = or(.boolean(dice.permille(500))) }
        if dice.permille(300) { properties["Alias"] = or(.string(dice.text())) }
        if dice.permille(300) { properties["Name"] = or(.string(dice.text())) }
        if dice.permille(300) { properties["Address"] = or(.string(dice.pick(HostileWorld.inventedAddresses))) }
        return properties
    }

    mutating func deviceProperties() -> [String: DBusValue] {
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

    mutating func attributeProperties() -> [String: DBusValue] {
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
}
