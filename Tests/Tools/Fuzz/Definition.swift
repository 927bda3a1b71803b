// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLE, BLEAssignedNumbers, BLEDefinitions and
// BLESimulation.
internal import FoundationEssentials

/// The input is a definition in JSON. A trap is a finding; so is an error without a text, and an accepted definition
/// that cannot be examined, cannot be given handles, or whose scripted values cannot be computed.
@c(LLVMFuzzerTestOneInput)
public func fuzzDefinition(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let json = Data(UnsafeBufferPointer(start: data, count: count))
    if let vendor = try? VendorDefinition(json: json) {
        let advertisement = Advertisement(manufacturerData: [0x0B5E: Array(json)])
        precondition(vendor.formats.all(in: advertisement).allSatisfy { !$0.format.name.isEmpty })
        for layout in vendor.values.values { _ = layout.readings(in: Array(json)) }
    }
    let definition: PeripheralDefinition
    do {
        definition = try DefinitionFile(json: json).definition
    } catch let mistake as DefinitionError {
        precondition(!mistake.description.isEmpty)
        return 0
    } catch {
        preconditionFailure("\(error)")
    }
    let problems = definition.diagnostics()
    precondition(problems.allSatisfy { !$0.description.isEmpty })
    let attributes = SimulatedAttributes(definition.services)
    if !problems.contains(where: \.isError) {
        let count = definition.services.reduce(0) { $0 + $1.characteristics.count }
        precondition(attributes.characteristics.count == count, "handles are used twice")
    }
    _ = (definition.advertising ?? AdvertisingParameters(definition.advertisement)).budget().description
    fuzzScript(json)
    return 0
}

/// The scripts of the characteristics, which only subscribers would run.
private func fuzzScript(_ json: Data) {
    guard let services = try? Entry(text: json).object(DefinitionFile.keys["definition"]!)["services"]?.array() else {
        return
    }
    for service in services {
        let entries = try? service.object(DefinitionFile.keys["service"]!)["characteristics"]?.array()
        for entry in entries ?? [] {
            guard let object = try? entry.object(DefinitionFile.keys["characteristic"]!),
                let (values, every) = try? DefinitionFile.scripted(object)
            else { continue }
            precondition(every > .zero)
            var iterator = values.makeIterator()
            for _ in 0..<20 { precondition(iterator.next() != nil) }
        }
    }
}
