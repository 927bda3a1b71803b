private let devices: Devices = given()
