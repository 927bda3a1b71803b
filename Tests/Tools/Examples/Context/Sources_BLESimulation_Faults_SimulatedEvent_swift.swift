private let device: SimulatedPeripheral = given()
